// The search field of the order screen: shows only the juices with an id, name or alias that contains the text.

import { $, menu } from "/state.js";

// As many as fit into a window without scrolling far.
$("find-juice").hidden = menu.juices.length <= 12;

// People care for neither case nor spaces, and some keyboards send Hangul letter by letter. 쥬스 and 주스 are one word.
const folded = (text) => text.normalize("NFC").toLowerCase().replace(/\s/gu, "").replaceAll("주스", "쥬스");

const names = new Map(menu.juices.map((juice) =>
  [juice.id, [juice.id, juice.name.en, juice.name.ko, ...(juice.aliases ?? [])].map(folded)]));

function showFound() {
  const text = folded($("find").value);
  const buttons = [...document.querySelectorAll("[data-juice]")];
  for (const button of buttons) button.hidden = !names.get(button.dataset.juice).some((name) => name.includes(text));
  $("none-found").hidden = buttons.some((button) => !button.hidden);
}
$("find").addEventListener("input", showFound);
