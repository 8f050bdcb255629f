// The page's own texts, each in English and in Korean, with {} for each value. Those of answers are the service's. The kiosk's
// refusals have the names of their codes.

const texts = {
  // The header.
  title: ["Juice Maker", "쥬스 메이커"], skip: ["Skip to the content", "본문으로 건너뛰기"], screens: ["Screens", "화면"],
  order: ["Order", "주문"], editStock: ["Edit stock", "재고 수정"], board: ["Board", "현황"],
  store: ["Store", "매장"], other: ["Another store…", "다른 매장…"], otherStore: ["The store's name", "매장 이름"],
  storeTooLong: ["This name is too long.", "이름이 너무 길어요."], noSuchStore: ["There is no such store.", "그런 매장은 없어요."],
  choose: ["Choose", "선택"], cancel: ["Cancel", "취소"], language: ["Language", "언어"],
  // The connection.
  connecting: ["Connecting…", "연결하는 중…"], restoring: ["Reading the stock…", "재고를 읽는 중…"], live: ["Live", "실시간"],
  lost: ["No connection", "연결 끊김"], unreachable: ["Not reachable", "연결할 수 없음"], unanswered: ["Orders wait", "주문 대기 중"],
  lostAlert: ["The shop cannot be reached. What you see may be old; your orders are sent when it is back.",
    "지금 매장과 연결되지 않아요. 화면은 예전 내용일 수 있고, 주문은 다시 연결되면 보내요."],
  unansweredAlert: ["Some orders have had no answer yet. They wait, and so may yours; each is answered once.",
    "아직 응답을 받지 못한 주문이 있어요. 주문은 기다리고 있고, 순서대로 한 번씩만 처리돼요."],
  outdatedAlert: ["The menu or the settings have changed. The page reloads when your basket is empty and your orders are answered.",
    "메뉴나 설정이 바뀌었어요. 장바구니가 비어 있고 주문이 처리되면 화면을 다시 불러와요."],
  heldBack: ["Not reachable", "연결할 수 없음"],
  heldBackAlert: [
    "Please tell the staff. A proxy holds back what the kiosk sends. It must neither buffer nor compress /api/events.",
    "직원에게 알려 주세요. 프록시가 키오스크의 데이터를 붙잡고 있어요. 프록시에서 /api/events의 버퍼링과 압축을 꺼 주세요."],
  unreachableAlert: ["This page has lost its connection. Trying again.", "연결이 끊겼어요. 다시 시도하고 있어요."],
  // Orders.
  shelf: ["In stock", "남은 재고"], chooseJuice: ["Choose juices", "쥬스를 골라 주세요"], findJuice: ["Find a juice", "쥬스 찾기"],
  noneFound: ["No juice has this name.", "이런 이름의 쥬스는 없어요."],
  unknownStore: ["This store has no stock yet, so no orders are taken for it. Staff open it by adding stock.",
    "아직 재고가 없는 매장이라 주문을 받지 않아요. 직원이 재고를 추가하면 주문할 수 있어요."],
  inBasket: ["{} in the basket", "장바구니에 {}잔"], removing: ["Remove {}", "{} 빼기"],
  basketIsFull: ["A basket holds at most {} kinds of juice.", "장바구니에는 쥬스를 {}가지까지 담을 수 있어요."],
  emptyBasket: ["Basket: empty", "빈 장바구니"], basketOf: ["Basket: {}", "장바구니 {}잔"], basket: ["Basket", "장바구니"],
  sendOrder: ["Order", "주문하기"], editQuestion: ["Edit the stock?", "재고를 수정할까요?"],
  askStaff: ["Please ask the staff: they can add more.", "직원에게 말씀해 주세요. 직원이 재고를 채울 수 있어요."],
  yes: ["Yes", "예"], no: ["No", "아니요"], ok: ["OK", "확인"],
  yourOrders: ["Your orders", "내 주문"], cancelOrder: ["Cancel", "주문 취소"], cancelling: ["Cancelling…", "취소하는 중…"],
  cancelled: ["Cancelled", "취소됨"], kept: ["Not cancelled", "취소되지 않음"],
  // What was sent.
  ordering: ["Ordering {}…", "{} 주문 중…"], editing: ["Editing the stock…", "재고를 수정하는 중…"],
  notSent: ["Not sent yet.", "아직 보내지 못했어요."], tooManyOrders: ["Too many orders at once.", "주문이 한꺼번에 너무 많아요."],
  proxyRedirects: ["A proxy wants you to sign in: reload the page.", "프록시가 로그인을 요구해요. 화면을 새로 고쳐 주세요."],
  proxyAnswers: ["A proxy answered {}, not the kiosk.", "키오스크가 아니라 프록시가 응답했어요: {}."],
  tryingAgain: ["Trying again in {} s.", "{}초 뒤에 다시 시도할게요."],
  stopSending: ["Stop", "그만"], stopped: ["No longer sent. It is not known whether it arrived: please ask the staff.",
    "더 보내지 않아요. 전달되었는지 알 수 없으니 직원에게 물어봐 주세요."],
  refused: ["It could not be sent: {}", "보낼 수 없어요: {}"],
  moreCards: ["{} more without an answer", "응답을 기다리는 요청 {}개 더"],
  commandsOfPage: ["What you sent", "보낸 요청"], dismiss: ["Dismiss", "지우기"],
  signedOut: ["Please sign in again.", "다시 로그인해 주세요."], reload: ["Please reload the page.", "화면을 새로 고쳐 주세요."],
  foreignOrigin: ["Please tell the staff. The proxy must pass on the Host header. In nginx: proxy_set_header Host $http_host",
    "직원에게 알려 주세요. 프록시가 Host 헤더를 전달해야 해요. nginx 설정: proxy_set_header Host $http_host"],
  // The stock.
  editingIsOff: ["The stock cannot be edited on this page. Staff edit it elsewhere.",
    "이 화면에서는 재고를 수정할 수 없어요. 직원이 다른 곳에서 수정해요."],
  pin: ["Staff PIN", "직원 PIN"], token: ["Staff token", "직원 토큰"], "token pin": ["Staff PIN or token", "직원 PIN 또는 토큰"],
  unlock: ["Unlock", "잠금 해제"], lock: ["Lock", "잠그기"],
  wrongToken: ["That is not right. Please try again.", "맞지 않아요. 다시 입력해 주세요."],
  tooManyTries: ["Too many wrong tries. Try again in a minute.", "너무 많이 틀렸어요. 1분 뒤에 다시 시도해 주세요."],
  notReached: ["The kiosk cannot be reached.", "키오스크에 연결할 수 없어요."],
  notSignedOut: ["Locked on this screen, but not signed out yet: {} Press Lock again, or close the browser.",
    "이 화면은 잠갔지만 아직 로그아웃되지 않았어요. {} 한 번 더 잠그거나 브라우저를 닫아 주세요."],
  mode: ["How to edit", "수정 방법"], modeStep: ["One by one", "하나씩"], modeAdd: ["Add several", "여러 개씩"],
  modeSet: ["Set counts", "개수 정하기"], apply: ["Apply", "적용"],
  applied: ["Applied: {}", "적용됨: {}"],
  nothingToApply: ["Enter at least one change.", "수정할 수량을 하나 이상 입력해 주세요."],
  largeAmount: ["{} is far more than there is. If that is right, press Apply again.",
    "{}개는 지금 재고보다 훨씬 많아요. 맞으면 적용을 한 번 더 눌러 주세요."],
  badNumber: ["Only whole numbers up to 1,000,000,000.", "1,000,000,000 이하의 정수만 쓸 수 있어요."],
  // The board.
  rate: ["Orders a second", "초당 주문"],
  madeLately: ["Made, 5 min", "5분간 제조"], shortLately: ["Out of stock, 5 min", "5분간 재고 부족"],
  cancelledLately: ["Cancelled, 5 min", "5분간 취소"],
  chart: ["Made and out of stock, in each 5\u00a0s of the last 5 minutes", "제조와 재고 부족, 최근 5분간 5초마다"],
  chartSummary: ["In the last 5 minutes: made {}, out of stock {}", "최근 5분 동안 제조 {}건, 재고 부족 {}건"],
  fiveMinutesAgo: ["5 min ago", "5분 전"], now: ["now", "지금"],
  made: ["made", "제조"], outOfStock: ["out of stock", "재고 부족"],
  lastAnswers: ["Last answers", "최근 응답"], repeated: ["answered before", "이미 응답함"], noAnswers: ["Nothing yet.", "아직 없어요."],
  // A public terminal.
  stillThere: ["Are you still there?", "계속 사용하시겠어요?"], goOn: ["Go on", "계속하기"],
  startingOver: ["This page is about to start over for the next customer.", "곧 다음 손님을 위해 처음 화면으로 돌아가요."],
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
export const isolated = (text) => `\u2068${plain(text)}\u2069`;

export class Words {
  constructor(menu, language) {
    this.language = language;
    this.fruits = new Map(menu.fruits.map((fruit) => [fruit.id, fruit.name]));
    this.juices = new Map(menu.juices.map((juice) => [juice.id, juice.name]));
  }

  #say(english, korean) { return this.language === "ko" ? korean : english; }

  text(name, ...values) { return this.#say(...(texts[name] ?? texts.reload)).replaceAll("{}", () => values.shift()); }
  fruit(id) { return this.fruits.get(id)?.[this.language] ?? isolated(id); }
  juice(id) { return this.juices.get(id)?.[this.language] ?? isolated(id); }
  number(value, digits = 0) {
    return new Intl.NumberFormat(this.language, { maximumFractionDigits: digits }).format(value);
  }
  count(value) { return this.#say(this.number(value), `${this.number(value)}개`); }

  // A line may break between the parts only.
  recipe(parts) { return parts.map((part) => `${this.fruit(part.fruit)}\u00a0${this.number(part.amount)}`).join(" · "); }

  // How much of each fruit is lacking.
  lacks(short) {
    return short.map(({ fruit, lack }) => this.#say(
      `${this.fruit(fruit)}: ${this.number(lack)}\u00a0short`, `${this.fruit(fruit)} ${this.number(lack)}개\u00a0부족`)).join(" · ");
  }

  // 2 × kiwi juice, banana juice, and mango juice
  items(items) {
    return new Intl.ListFormat(this.language).format(items.map(({ juice, quantity }) => {
      const [name, number] = [this.juice(juice), this.number(quantity)];
      return quantity === 1 ? name : this.#say(`${number} × ${name}`, `${name} ${number}잔`);
    }));
  }

  // How a command ended.
  outcome({ answer, refusal } = {}) {
    return answer ? this.answer(answer) : refusal ? this.text("refused", this.text(refusal.code)) : "";
  }

  // How many juices are in the basket.
  basket(items) {
    const sum = items.reduce((sum, item) => sum + item.quantity, 0);
    return this.text(sum === 0 ? "emptyBasket" : "basketOf", this.number(sum));
  }

  // Why a request failed. A proxy that redirects has the status 0.
  failure({ by, status, code }) {
    return by === "proxy" ? this.text(status === 0 ? "proxyRedirects" : "proxyAnswers", status)
      : this.text(by === "kiosk" ? code : "notReached");
  }

  // Why the kiosk has not taken a command.
  unsent(refusal) {
    const why = refusal.by === "proxy" ? this.failure(refusal) : this.text(refusal.status === 429 ? "tooManyOrders" : "notSent");
    return `${why} ${this.text("tryingAgain", refusal.wait)}`;
  }

  shortDetail(missing) {
    return missing.map(({ fruit, needed, inStock }) => this.#say(
      `${this.fruit(fruit)}: ${this.number(needed)} needed, ${this.number(inStock)} left`,
      `${this.fruit(fruit)} ${this.number(needed)}개 필요, ${this.number(inStock)}개 남음`)).join(" · ");
  }

  // What the service says of a command, or would say in this language.
  answer(answer) { return plain(answer.texts[this.language]); }
}
