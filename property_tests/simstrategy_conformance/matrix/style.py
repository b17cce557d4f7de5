"""How the page of a matrix looks: light and dark, from 360 px, and on paper."""

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --line: #8885; --paper: light-dark(#fff, #16181b);
  --quiet: light-dark(#59636e, #9ba3ac); --green: light-dark(#1a6b2f, #6fd08c); --red: light-dark(#b3261e, #ff8a80);
  --amber: light-dark(#7a5200, #e8b84b); --link: light-dark(#0a58ca, #7ab7ff); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 110rem; padding: 1rem clamp(.6rem, 2vw, 2rem); font: 15px/1.45 system-ui, sans-serif;
  background: var(--paper); color: light-dark(#1c1f23, #e4e7ea); }
h1 { font-size: 1.45rem; margin: .4rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; display: inline; }
p, .runs li, dd { max-width: 60rem; overflow-wrap: anywhere; }
a { color: var(--link); } a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.mark { border-left: .35rem solid var(--amber); padding: .4rem .8rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; padding: 0; color: var(--quiet); }
.scroll { overflow: auto; max-height: 92vh; border: 1px solid var(--line); border-radius: .4rem;
  width: fit-content; max-width: 100%; }
table { border-collapse: separate; border-spacing: 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; z-index: 2; background: var(--paper); min-width: 7.5rem; font-weight: 400; }
thead th a { font-weight: 700; overflow-wrap: anywhere; }
thead span { display: block; } thead small { display: block; color: var(--quiet); overflow-wrap: anywhere; }
tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--paper); min-width: 22.5rem; }
thead tr > :first-child { z-index: 3; }
tbody th { font-weight: 400; padding-left: 3.6rem; text-indent: -3rem; }
tbody th b { display: inline-block; min-width: 3rem; text-indent: 0; }
tr.group > :first-child { font-weight: 700; padding-left: .6rem; text-indent: 0; }
tr.group > * { background: light-dark(#eef0f2, #23272b) !important; }
summary { cursor: pointer; white-space: nowrap; } td summary { list-style: none; }
td summary::-webkit-details-marker { display: none; }
td summary::after { content: " ▾"; opacity: .55; } td summary:hover { text-decoration: underline; }
.passed summary, .good { color: var(--green); } .failed summary, .bad { color: var(--red); font-weight: 600; }
.excepted summary, .part summary, .open { color: var(--amber); font-weight: 600; }
.skipped summary, .none { color: var(--quiet); }
td div { width: 17rem; font-size: .87rem; padding: .2rem 0 .5rem; overflow-wrap: anywhere; }
td div p { margin: .25rem 0; } td pre { margin: .2rem 0; white-space: pre-wrap; font-size: .78rem; }
code { font: .86em/1.4 ui-monospace, monospace; background: #8882; border-radius: .2rem; padding: 0 .2rem; }
code span { white-space: nowrap; }
dt { font-weight: 600; margin-top: .7rem; } dd { margin: .1rem 0 0; }
dt:target, dt:target + dd, .runs > li:target { background: light-dark(#fff3c4, #4a3f16); }
.runs { list-style: none; padding: 0; } .runs > li { border-top: 1px solid var(--line); padding: .7rem 0; }
.runs ul { padding-left: 1.2rem; font-size: .87rem; }
@media (max-width: 40rem) {
  body { font-size: 14px; } th, td { padding: .25rem .4rem; }
  tr > :first-child { min-width: 8.6rem; max-width: 8.6rem; }
  tbody th { padding-left: .4rem; text-indent: 0; } tbody th b { display: block; }
  thead th { min-width: 6rem; } thead small { display: none; } td div { width: 12rem; }
  tr.group > :first-child { max-width: none; }
}
@media print { .scroll { max-height: none; overflow: visible; border: 0; } }
""".strip()
