"""Tests of users' programs under pytest: what pytest loads.  What tests call is `simstrategy.testing`."""
