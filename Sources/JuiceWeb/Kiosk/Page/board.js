// The board: the activity at one store or at all of them.

import { $, known, words } from "/state.js";
import { clock, drawChart, make, say } from "/view.js";
import { plain } from "/words.js";

export function showBoard() {
  const board = known.board;
  if (!board) return;
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const [made, short] = [sum(board.made), sum(board.outOfStock)];
  $("rate").textContent = words.number(board.rate, board.rate < 10 ? 1 : 0);
  $("lag").textContent = board.lag === undefined ? "–" : words.number(board.lag);
  $("lag").title = board.lag === undefined ? words.text("unknown") : "";
  $("made").textContent = words.number(made);
  $("short").textContent = words.number(short);
  $("cancelled").textContent = words.number(sum(board.cancelled));
  say($("gap"), board.afterGap ? words.lastGap(board.afterGap, clock.format(board.afterGap.time)) : "");
  $("gap").hidden = !board.afterGap;
  $("chart").setAttribute("aria-label", words.chartSummary(made, short));
  drawChart($("chart"), board);
}

function answerLine(answer) {
  const time = clock.format(answer.time);
  const store = make("b", {}, make("bdi", { text: plain(answer.store) }));
  const head = make("span", { className: "head" }, make("time", { text: time }), store);
  if (answer.duplicate) head.append(make("i", { text: words.text("repeated") }));
  return make("li", { className: `is-${answer.type}` }, head, make("span", { className: "text", text: words.answer(answer) }));
}

// Revisions of the store that are missing before this answer.
function gapLine({ store, gap }) {
  const head = make("span", { className: "head" }, make("b", {}, make("bdi", { text: plain(store) })));
  return make("li", { className: "is-gap" }, head,
    make("span", { className: "text", text: words.gap(gap) }));
}

export function showAnswers() {
  const lines = known.answers.flatMap((answer) => [...(answer.gap ? [gapLine(answer)] : []), answerLine(answer)]).reverse();
  $("answers").replaceChildren(...(lines.length > 0 ? lines : [make("li", { text: words.text("noAnswers") })]));
}
