// The board: what happens in the stores.

import { $, known, words } from "/state.js";
import { clock, drawChart, make } from "/view.js";
import { plain } from "/words.js";

export function showBoard() {
  const board = known.board;
  if (!board) return;
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const [made, short] = [sum(board.made), sum(board.outOfStock)];
  $("rate").textContent = words.number(board.rate, board.rate < 10 ? 1 : 0);
  $("made").textContent = words.number(made);
  $("short").textContent = words.number(short);
  $("cancelled").textContent = words.number(sum(board.cancelled));
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

export function showAnswers() {
  const lines = known.answers.map(answerLine).reverse();
  $("answers").replaceChildren(...(lines.length > 0 ? lines : [make("li", { text: words.text("noAnswers") })]));
}
