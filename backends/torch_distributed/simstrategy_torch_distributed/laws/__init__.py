"""The laws of one run: what ranks have observed is compared here, without torch, and becomes findings and remarks."""
