// The page's texts, in English and Korean.

import { itemsOf } from "/commands.js";

const texts = {
  en: {
    title: "Juice Maker", skip: "Skip to the content", screens: "Screens", order: "Order", editStock: "Edit stock",
    findJuice: "Find a juice", noneFound: "No juice has this name.",
    board: "Board", store: "Store", language: "Language", shelf: "In stock", chooseJuice: "Choose juices",
    basket: "Basket", ok: "OK", editQuestion: "Edit the stock?", askStaff: "Please ask the staff: they can add more.",
    sendOrder: "Order", cancelOrder: "Cancel", cancelling: "Cancelling…", cancelled: "Cancelled",
    kept: "Not cancelled", askAgain: "Ask again", cancelledLately: "Cancelled, 5 min",
    commandsOfPage: "What you sent",
    staffSecret: "Staff PIN or token", unlock: "Unlock", lock: "Lock", mode: "How to edit", modeStep: "One by one",
    modeAdd: "Add several", modeSet: "Set counts",
    apply: "Apply", yourOrders: "Your orders", scope: "Which stores", allStores: "All stores", thisStore: "This store",
    rate: "Orders a second", lag: "Waiting", madeLately: "Made, 5 min", shortLately: "Out of stock, 5 min",
    chart: "Made and out of stock, last 5 minutes", made: "made", outOfStock: "out of stock", lastAnswers: "Last answers",
    yes: "Yes", no: "No", otherStore: "The store's name", choose: "Choose", cancel: "Cancel", other: "Another store…",
    editingOff: "The stock cannot be edited on this page. Staff edit it elsewhere.",
    connecting: "Connecting…", restoring: "Reading the stock…", live: "Live", lost: "No connection",
    unreachable: "Not reachable",
    lostAlert: "The shop cannot be reached. What you see may be old; your orders are sent when it is back.",
    unreachableAlert: "This page has lost its connection. Trying again.",
    secretRefused: "This PIN or token is not right.", notReached: "The kiosk cannot be reached.",
    nothingToApply: "Enter at least one change.", badNumber: "Only whole numbers up to 1,000,000,000.",
    tryLater: "Too many wrong tries from here. Try again in a minute.",
    tooManyOrders: "Too many orders at once.", signedOut: "Please sign in again.", reload: "Please reload the page.",
    noStore: "This store has no stock yet, so no orders are taken for it. Staff open it by adding stock.",
    storeTooLong: "A store's name has 1 to 128 bytes.", dismiss: "Dismiss", repeated: "answered before",
    unknown: "not known yet", noAnswers: "Nothing yet.",
  },
  ko: {
    title: "쥬스 메이커", skip: "본문으로 건너뛰기", screens: "화면", order: "주문", editStock: "재고 추가",
    board: "현황", store: "매장", language: "언어", shelf: "남은 재고", chooseJuice: "쥬스를 골라 주세요",
    findJuice: "쥬스 찾기", noneFound: "이런 이름의 쥬스는 없어요.",
    basket: "장바구니", ok: "확인", editQuestion: "재고를 수정할까요?", askStaff: "직원에게 말씀해 주세요. 직원이 재고를 채울 수 있어요.",
    sendOrder: "주문하기", cancelOrder: "주문 취소", cancelling: "취소하는 중…", cancelled: "취소됨", kept: "취소되지 않음",
    askAgain: "다시 묻기", cancelledLately: "5분간 취소", commandsOfPage: "보낸 요청", staffSecret: "직원 PIN 또는 토큰",
    unlock: "잠금 해제", lock: "잠그기", mode: "수정 방법", modeStep: "하나씩",
    modeAdd: "여러 개씩", modeSet: "개수 정하기",
    apply: "적용", yourOrders: "내 주문", scope: "매장 범위", allStores: "모든 매장", thisStore: "이 매장",
    rate: "초당 주문", lag: "대기 중", madeLately: "5분간 제조", shortLately: "5분간 재고 부족",
    chart: "제조와 재고 부족, 최근 5분", made: "제조", outOfStock: "재고 부족", lastAnswers: "최근 응답",
    yes: "예", no: "아니요", otherStore: "매장 이름", choose: "선택", cancel: "취소", other: "다른 매장…",
    editingOff: "이 화면에서는 재고를 수정할 수 없어요. 직원이 다른 곳에서 수정해요.",
    connecting: "연결하는 중…", restoring: "재고를 읽는 중…", live: "실시간", lost: "연결 끊김",
    unreachable: "연결할 수 없음",
    lostAlert: "지금 매장과 연결되지 않아요. 화면은 예전 내용일 수 있고, 주문은 다시 연결되면 보내요.",
    unreachableAlert: "연결이 끊겼어요. 다시 시도하고 있어요.",
    secretRefused: "PIN이나 토큰이 맞지 않아요.", notReached: "키오스크에 연결할 수 없어요.",
    nothingToApply: "수정할 수량을 하나 이상 입력해 주세요.", badNumber: "1,000,000,000 이하의 정수만 쓸 수 있어요.",
    tryLater: "여기서 너무 많이 틀렸어요. 1분 뒤에 다시 시도해 주세요.",
    tooManyOrders: "주문이 한꺼번에 너무 많아요.", signedOut: "다시 로그인해 주세요.", reload: "화면을 새로 고쳐 주세요.",
    noStore: "아직 재고가 없는 매장이라 주문을 받지 않아요. 직원이 재고를 추가하면 주문할 수 있어요.",
    storeTooLong: "매장 이름은 1~128바이트여야 해요.", dismiss: "지우기", repeated: "이미 응답함",
    unknown: "아직 몰라요", noAnswers: "아직 없어요.",
  },
};

const reasons = {
  en: {
    unknownStore: "the service does not know this store", unknownJuice: "this juice is not on the service's menu",
    unknownFruit: "a fruit is not on the service's menu",
    badQuantity: "the quantity must be from 1 to 100", badAmount: "an amount must be a whole number",
    wouldGoNegative: "a count cannot go below 0", wouldOverflow: "a count cannot go above 1,000,000,000",
    emptyRestock: "no fruit was named", badCommand: "the command was not understood", cancelled: "the order was cancelled",
  },
  ko: {
    unknownStore: "등록되지 않은 매장이에요", unknownJuice: "메뉴에 없는 쥬스예요", unknownFruit: "메뉴에 없는 과일이 있어요",
    badQuantity: "수량은 1부터 100까지예요", badAmount: "수량은 정수여야 해요",
    wouldGoNegative: "재고는 0보다 작아질 수 없어요", wouldOverflow: "재고는 1,000,000,000개를 넘을 수 없어요",
    emptyRestock: "수정할 과일이 없어요", badCommand: "요청을 이해하지 못했어요", cancelled: "취소된 주문이에요",
  },
};

// Text from a topic may hold characters that break the line or reverse the direction of the text around them.
export const plain = (text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\uFFFD");

// What cannot be seen, and what another spelling has in one character: an accent, a letter of a Hangul syllable.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u0300-\u036f\u1100-\u11ff]|(?! )\p{Zs}/gu;
const escaped = (text) => text.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

// A store's name as people can tell it from others that look the same.
export const storeName = (name) => (name.search(hidden) < 0 && !/^[" ]| $/.test(name) ? name
  : JSON.stringify(name).replace(hidden, escaped));

// The same for text within a sentence: Unicode isolates keep it from changing the sentence's direction.
const isolated = (text) => `\u2068${plain(text)}\u2069`;

// Whether the word, read in Korean, ends in a consonant; undefined if unknown.
function endsInConsonant(word) {
  const last = [...word.normalize("NFC")].at(-1) ?? "";
  const code = last.codePointAt(0) ?? 0;
  // Hangul syllables come in blocks of 28, one per final consonant; the first in a block has none.
  if (code >= 0xac00 && code <= 0xd7a3) return (code - 0xac00) % 28 !== 0;
  if ("013678lmnLMN".includes(last)) return true;
  if ("2459aeiouwyAEIOUWY".includes(last)) return false;
  return undefined;
}

function withParticle(word, consonant, vowel) {
  const ends = endsInConsonant(word);
  if (ends === undefined || word === "") return `${word}${consonant}(${vowel})`;
  return word + (ends ? consonant : vowel);
}

// 딸기가 · 망고와 키위가 · 딸기, 망고와 키위가
function koreanShort(names) {
  const last = withParticle(names.at(-1), "이", "가");
  if (names.length === 1) return last;
  const before = withParticle(names.at(-2), "과", "와");
  return [...names.slice(0, -2), `${before} ${last}`].join(", ");
}

function englishList(names) {
  return names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export class Words {
  constructor(menu, language) {
    this.language = language;
    this.names = new Map([...menu.fruits, ...menu.juices].map((one) => [one.id, one.name]));
    this.fruits = new Map(menu.fruits.map((fruit) => [fruit.id, fruit.name]));
    this.juices = new Map(menu.juices.map((juice) => [juice.id, juice.name]));
  }

  text(name) { return texts[this.language][name] ?? name; }
  fruit(id) { return this.fruits.get(id)?.[this.language] ?? isolated(id); }
  juice(id) { return this.juices.get(id)?.[this.language] ?? isolated(id); }
  number(value, digits = 0) {
    return new Intl.NumberFormat(this.language, { maximumFractionDigits: digits }).format(value);
  }
  count(value) { return this.language === "ko" ? `${this.number(value)}개` : this.number(value); }
  reason(code) { return reasons[this.language][code]; }

  // A line may break between the parts only.
  recipe(parts) { return parts.map((part) => `${this.fruit(part.fruit)}\u00a0${this.number(part.amount)}`).join(" · "); }

  // How much of a fruit a juice is short of.
  missing(fruit, count) {
    return this.language === "ko"
      ? `${this.fruit(fruit)} ${this.number(count)}개\u00a0부족` : `${this.number(count)}\u00a0${this.fruit(fruit)} short`;
  }

  // 2 × kiwi juice, mango juice
  items(items) {
    return items.map(({ juice, quantity }) => {
      const name = this.juice(juice);
      if (quantity === 1) return name;
      return this.language === "ko" ? `${name} ${this.number(quantity)}잔` : `${this.number(quantity)} × ${name}`;
    }).join(", ");
  }

  ordering(items) {
    return this.language === "ko" ? `${this.items(items)} 주문 중…` : `Ordering ${this.items(items)}…`;
  }

  cancelling(items) {
    return this.language === "ko" ? `${this.items(items)} 주문을 취소하는 중…` : `Cancelling ${this.items(items)}…`;
  }

  cancelled(returned) {
    const list = returned.map((one) => `${this.fruit(one.fruit)} ${this.count(one.amount)}`).join(", ");
    if (this.language === "ko") return list ? `주문을 취소했어요. 되돌린 과일: ${list}` : "주문을 취소했어요. 되돌린 과일은 없어요.";
    return list ? `Cancelled. Returned: ${list}` : "Cancelled. Nothing was returned.";
  }

  // How the last cancel of an order ended.
  cancelResult({ answer, refusal } = {}) {
    return answer ? this.answer(answer) : refusal ? this.refused(refusal.code) : "";
  }

  // What is in the basket; with a limit, that it holds no more kinds.
  basket(items, limit) {
    if (limit !== undefined) {
      return this.language === "ko" ? `장바구니에는 쥬스를 ${limit}가지까지 담을 수 있어요.` : `A basket holds at most ${limit} kinds of juice.`;
    }
    const sum = items.reduce((sum, item) => sum + item.quantity, 0);
    if (this.language === "ko") return sum === 0 ? "빈 장바구니" : `장바구니 ${this.number(sum)}잔`;
    return sum === 0 ? "Basket: empty" : `Basket: ${this.number(sum)}`;
  }

  basketLacks(short) { return short.map((one) => this.missing(one.fruit, one.lack)).join(" · "); }

  // How many of a juice are in the basket.
  inBasket(quantity) {
    return this.language === "ko" ? `장바구니에 ${this.number(quantity)}잔` : `${this.number(quantity)} in the basket`;
  }

  removing(name) { return this.language === "ko" ? `${name} 빼기` : `Remove ${name}`; }

  // Revisions of a store that no answer has.
  gap({ first, last }) {
    const [from, to] = [this.number(first), this.number(last)];
    if (this.language === "ko") return `이력이 빠졌어요: 변경 ${first === last ? from : `${from}–${to}`}번의 응답이 없어요`;
    return first === last
      ? `Gap: the answer of revision ${from} is missing` : `Gap: the answers of revisions ${from} to ${to} are missing`;
  }

  // The last gap, with the store and the time of the answer after it.
  lastGap(gap, time) { return `${time} · ${isolated(gap.store)} · ${this.gap(gap)}`; }

  editing() { return this.language === "ko" ? "재고를 수정하는 중…" : "Editing the stock…"; }

  late() {
    return this.language === "ko"
      ? "10초가 지나도 응답이 없어요. 계속 기다릴게요. 다시 물어도 한 번만 처리돼요."
      : "No answer for 10 s. Still waiting for it. Asking again never orders twice.";
  }

  unsent() {
    return this.language === "ko" ? "아직 보내지 못했어요. 다시 시도하고 있어요." : "Not sent yet. Trying again.";
  }

  // A rate-limited command.
  limited(code, seconds) {
    const when = this.language === "ko" ? `${seconds}초 뒤에 다시 시도할게요.` : `Trying again in ${seconds} s.`;
    return `${this.text(code)} ${when}`;
  }

  refused(code) {
    const why = this.text({ signedOut: "signedOut", editingIsOff: "editingOff", unknownStore: "noStore" }[code] ?? "reload");
    return this.language === "ko" ? `보낼 수 없어요: ${why}` : `It could not be sent: ${why}`;
  }

  made(items) {
    const names = this.items(items);
    if (this.language === "ko") return `${names} 나왔습니다! 맛있게 드세요!`;
    return items.length === 1 && items[0].quantity === 1 ? `Your ${names} is ready! Enjoy!` : `Your ${names} are ready! Enjoy!`;
  }

  short(missing) {
    const names = missing.map((one) => this.fruit(one.fruit));
    return this.language === "ko"
      ? `${koreanShort(names)} 모자라요.` : `Not enough ${englishList(names)}.`;
  }

  shortDetail(missing) {
    return missing.map((one) => this.language === "ko"
      ? `${this.fruit(one.fruit)} ${this.number(one.needed)}개 필요, ${this.number(one.inStock)}개 남음`
      : `${this.fruit(one.fruit)}: ${this.number(one.needed)} needed, ${this.number(one.inStock)} left`).join(" · ");
  }

  restocked(left) {
    const list = left.map((one) => `${this.fruit(one.fruit)} ${this.count(one.amount)}`).join(", ");
    return this.language === "ko" ? `재고를 수정했어요: ${list}` : `Stock is now: ${list}`;
  }

  rejected(answer) {
    // The service's message may be in another language, and stands only for a reason that the page does not know.
    const said = this.reason(answer.reason) ?? isolated(answer.message);
    return this.language === "ko" ? `처리하지 못했어요: ${said}` : `Not done: ${said}`;
  }

  answer(answer) {
    switch (answer.type) {
      case "juiceMade": return this.made(itemsOf(answer));
      case "outOfStock": return this.short(answer.missing);
      case "restocked": return this.restocked(answer.left);
      case "cancelled": return this.cancelled(answer.returned);
      default: return this.rejected(answer);
    }
  }

  // An answer on the board, perhaps to another customer.
  line(answer) {
    if (answer.type !== "juiceMade") return this.answer(answer);
    const names = this.items(itemsOf(answer));
    return this.language === "ko" ? `${names} 제조` : `Made: ${names}`;
  }

  applied(count) { return this.language === "ko" ? `적용됨: ${this.count(count)}` : `Applied: ${this.count(count)}`; }

  chartSummary(made, short) {
    return this.language === "ko"
      ? `최근 5분 동안 제조 ${this.number(made)}건, 재고 부족 ${this.number(short)}건`
      : `In the last 5 minutes: made ${this.number(made)}, out of stock ${this.number(short)}`;
  }
}
