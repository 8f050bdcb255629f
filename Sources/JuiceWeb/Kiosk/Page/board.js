// The board: what happens in the stores.

import { classOf } from "/kinds.js";
import { $, known, words } from "/state.js";
import { clock, drawChart, make } from "/view.js";
import { plain } from "/words.js";

export function showBoard() {
  const board = known.board;
  if (!board) return;
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  $("rate").textContent = words.number(board.rate, board.rate < 10 ? 1 : 0);
  for (const name of ["made", "outOfStock", "cancelled"]) $(name).textContent = words.number(sum(board[name]));
  $("chart").setAttribute("aria-label", words.text("chartSummary", $("made").textContent, $("outOfStock").textContent));
  drawChart($("chart"), words, board);
}

function answerLine(answer) {
  const time = clock(answer.time);
  const store = make("b", {}, make("bdi", { text: plain(answer.store), translate: "no" }));
  const head = make("span", { className: "head" }, make("time", { text: time }), store);
  if (answer.duplicate) head.append(make("i", { text: words.text("repeated") }));
  return make("li", { className: classOf(answer) }, head, make("span", { className: "text", text: words.answer(answer) }));
}

export function showAnswers() {
  const lines = known.answers.map(answerLine).reverse();
  $("answers").replaceChildren(...(lines.length > 0 ? lines : [make("li", { text: words.text("noAnswers") })]));
}
