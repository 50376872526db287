// The style of the exported HTML page: light and dark, narrow and wide, screen and paper. Without fonts and images.

import { type Html, markup } from './escape-html.ts'

export const pageStyle: Html = markup`
:root { color-scheme: light dark; --paper: #fbfaf8; --card: #ffffff; --ink: #1d2127; --soft: #5a616b; --line: #e2dfd9;
  --code: #f4f2ee; --link: #1d5bbf; --success: #17703f; --failure: #b3261e; --cancelled: #5a616b; --unknown: #7a2fb0;
  --waiting: #8a5200; --open: #1d5bbf; --run: #3b7ddd; --queue: #868d97; --person: #c27c0e; --external: #f3d9a4;
  --external-dot: #a8741a; --sleeping: #b9c3d3; --backoff: #8f97a3; --lost: #d9483b; --lost-ground: #fbe3e0; --gap: #eeebe5; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --card: #1c2026; --ink: #e6e8eb; --soft: #a2a9b4; --line: #32383f; --code: #22272e;
    --link: #8ab8ff; --success: #62cf91; --failure: #ff9088; --cancelled: #a2a9b4; --unknown: #cfa0f5; --waiting:
    #edb95e; --open: #8ab8ff; --run: #4f8fe8; --queue: #757e8a; --person: #c98d24; --external: #4a3c1f;
    --external-dot: #d9ab58; --sleeping: #3d4758; --backoff: #737c88; --lost: #f06a5e; --lost-ground: #45201e; --gap: #23282e; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink); font:
  16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1, h2, h3, h4, p, ul, ol, dl, dd, blockquote { margin: 0; padding: 0; }
h1 { font-size: 1.75rem; line-height: 1.25; overflow-wrap: anywhere; unicode-bidi: isolate; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .75rem; }
h3 { font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; unicode-bidi: isolate; }
h4 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 1rem 0 .3rem; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
ul, ol { list-style: none; }
.kind, .note, footer { color: var(--soft); font-size: .85rem; }
.note { font-weight: 400; overflow-wrap: anywhere; }
.patterns { position: absolute; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .75rem; }
code, pre { font: .85em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; unicode-bidi: isolate; }
pre { margin: .25rem 0; padding: .55rem .7rem; background: var(--code); border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; max-height: 32rem; overflow: auto; unicode-bidi: isolate; tab-size: 4; }
.facts { display: flex; flex-wrap: wrap; gap: .35rem 1.75rem; margin: .5rem 0; font-size: .9rem; }
.facts dt { color: var(--soft); font-size: .8rem; }
.facts dd { overflow-wrap: anywhere; unicode-bidi: isolate; }
.facts > div { min-width: 0; max-width: 100%; }
.state { color: var(--open); font-size: .8rem; font-weight: 600; white-space: nowrap; }
.state::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .35rem; border-radius:
  50%; background: currentColor; }
.success { color: var(--success); }
.failure { color: var(--failure); }
.cancelled { color: var(--cancelled); }
.unknown { color: var(--unknown); }
.waiting { color: var(--waiting); }
.open, .running { color: var(--open); }
.interrupted { color: var(--unknown); }
.totals { display: flex; flex-wrap: wrap; gap: .4rem .6rem; margin: 1rem 0 .4rem; }
.totals li { padding: .2rem .7rem .2rem .55rem; border: 1px solid var(--line); border-radius: 999px; background:
  var(--card); }
.warning { margin-top: .75rem; padding: .6rem .8rem; border-left: 4px solid var(--waiting); background: var(--card); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; margin:
  .6rem 0; }
.card.ask { border-left: 4px solid var(--person); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .82rem; color: var(--soft); margin-bottom:
  .5rem; }
.legend li { white-space: nowrap; }
.legend svg { vertical-align: -1px; margin-right: .2rem; }
.timeline { background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.axis-row, .call > summary { display: grid; grid-template-columns: 19rem minmax(0, 1fr) .5rem; gap: 0 1rem;
  align-items: center; padding: .3rem .75rem; }
.axis-row { padding-bottom: 0; }
.axis { grid-column: 2; width: 100%; overflow: visible; }
.axis text { fill: var(--soft); font-size: 11px; }
.axis line { stroke: var(--line); }
.call { border-top: 1px solid var(--line); }
.call > summary { cursor: pointer; list-style: none; min-height: 2.6rem; overflow: clip; }
.call > summary::-webkit-details-marker { display: none; }
.call > summary:hover { background: var(--code); }
.call > summary:focus-visible { outline-offset: -3px; }
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .6rem; min-width: 0; padding-left: 1.1rem;
  position: relative; }
.who::before { content: "▸"; position: absolute; left: 0; color: var(--soft); }
.call[open] > summary .who::before { content: "▾"; }
.took { color: var(--soft); font-size: .8rem; white-space: nowrap; }
.d1 .who { margin-left: 1.1rem; }
.d2 .who { margin-left: 2.2rem; }
.d3 .who { margin-left: 3.3rem; }
.d4 .who { margin-left: 4.4rem; }
.track { display: block; width: 100%; overflow: visible; }
.bar { stroke-width: 1.5px; }
.bar.queued { fill: var(--queue); stroke: var(--queue); }
.bar.running { fill: var(--run); stroke: var(--run); }
.bar.person { fill: var(--person); stroke: var(--person); }
.bar.external { fill: url(#hatch-external); stroke: var(--external-dot); stroke-width: .5px; }
.bar.backoff { fill: none; stroke: var(--backoff); stroke-dasharray: 3 3; }
.bar.sleeping { fill: var(--sleeping); }
.bar.lost { fill: url(#hatch-lost); stroke: var(--lost); stroke-width: .75px; }
.lost-ground { fill: var(--lost-ground); }
.lost-line { fill: var(--lost); }
.external-ground { fill: var(--external); }
.external-dot { fill: var(--external-dot); }
.gap { fill: var(--gap); y: -24px; height: 72px; }
.axis .gap { y: 0; height: 20px; }
.mark line { stroke: var(--ink); stroke-width: 2px; }
.mark.lost line, .mark.silent line, .mark.takeover line { stroke: var(--lost); }
.end { fill: currentColor; stroke: var(--card); stroke-width: 1.5px; }
.body { padding: .25rem 1.85rem 1.25rem; border-top: 1px dashed var(--line); }
.body > h4:first-child { margin-top: .6rem; }
.marked { margin-top: .7rem; padding-left: .6rem; border-left: 3px solid var(--soft); font-size: .9rem; }
.marked.lost, .marked.silent, .marked.takeover { border-color: var(--lost); }
.decisions li { margin: .3rem 0; overflow-wrap: anywhere; }
.approve, .answer, .edit { color: var(--success); }
.deny { color: var(--failure); }
blockquote { border-left: 3px solid var(--line); padding-left: .7rem; color: var(--soft); overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; min-width: 100%; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
pre.prose { font: inherit; }
.note + .timeline, .legend + .timeline { margin-top: .5rem; }
td { unicode-bidi: isolate; }
td time { white-space: nowrap; }
td code { white-space: pre-wrap; }
details > summary { cursor: pointer; }
.events { margin-top: 1rem; font-size: .9rem; }
.events > summary { color: var(--link); }
.conversation { display: grid; gap: .75rem; }
.message { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .7rem 1rem;
  max-width: 52rem; }
.message.user { border-left: 4px solid var(--link); }
.message.tool, .message.notice { background: none; }
.text pre, .message.summary pre { background: none; padding: 0; font: inherit; max-height: none; }
.result pre { font-size: .85em; }
.result + .result, .asked { margin-top: .5rem; }
.result .text pre { background: var(--code); padding: .55rem .7rem; max-height: 16rem; }
.reasoning > summary { color: var(--soft); font-size: .9rem; }
.lines li { margin: .4rem 0; }
@media (max-width: 46rem) {
  body { padding: 1rem .75rem 2rem; }
  h1 { font-size: 1.4rem; }
  .axis-row, .call > summary { grid-template-columns: minmax(0, 1fr); gap: .15rem; padding: .45rem .9rem; }
  .axis { grid-column: 1; }
  .gap { y: 0; height: 22px; }
  .body { padding: .25rem .9rem 1rem; }
}
@media print {
  :root { --paper: #fff; --card: #fff; }
  body { max-width: none; padding: 0; font-size: 11px; }
  .timeline { overflow: visible; }
  pre { max-height: none; border: 1px solid var(--line); }
  .call > summary, .card, .message { break-inside: avoid; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
`
