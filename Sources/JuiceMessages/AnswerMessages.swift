import JuiceDomain

extension LocalizedName {
    package func text(in language: Language) -> String { language == .english ? english : korean }
}

/// The texts around a number or a list.
typealias TextPair = (before: String, after: String)

/// The messages of the service in one language. Those of rejections are whole; the others come in pieces that an encoder puts
/// together.
struct AnswerMessages {
    let menu: Menu
    let language: Language

    func text<Text>(_ english: @autoclosure () -> Text, _ korean: @autoclosure () -> Text) -> Text {
        language.text(english(), korean())
    }

    /// Around the juices that were made: `juice made: kiwi juice`.
    var made: TextPair { text(("juice made: ", ""), ("", " 나왔습니다! 맛있게 드세요!")) }

    /// Around the number of several of a juice: `3 × kiwi juice`.
    func several(_ juice: LocalizedName) -> TextPair { text(("", " × \(juice.english)"), ("\(juice.korean) ", "잔")) }

    /// Around the list of short fruits.
    var outOfStock: TextPair { text(("out of stock (", ")"), ("", " 모자라요. 재고를 수정할까요?")) }

    /// A short fruit's name, by how many follow it in the list: `딸기, `, `바나나와 `, `키위가`.
    func listed(_ fruit: LocalizedName, followedBy following: Int) -> String {
        let name = fruit.text(in: language)
        return switch following {
        case 0: text(name, KoreanParticle.subject.attached(to: name))
        case 1: text("\(name), ", KoreanParticle.and.attached(to: name) + " ")
        default: "\(name), "
        }
    }

    /// Around the fruits that were returned.
    var cancelled: TextPair { text(("cancelled: ", " returned"), ("취소했어요. ", "를 되돌렸습니다.")) }

    var cancelledNothing: String { text("cancelled: nothing returned", "취소했어요. 되돌린 재고가 없습니다.") }

    /// For a command whose first answer is lost, by the name of its ``FormerOutcome``.
    func lost(_ was: String) -> String {
        text("answered before as \"\(was)\"; the first answer is lost", "이미 \"\(was)\"(으)로 응답했지만, 첫 응답이 남아 있지 않아요")
    }

    /// Before the restocked fruits: `restocked: kiwi +5, now 15; mango now 30`.
    var restocked: String { text("restocked: ", "재고를 수정했어요: ") }

    /// Before the new level of a fruit, so that it is not taken for the amount added.
    var now: String { text("now ", "현재 ") }

    /// Around the number of a fruit: `kiwi 8`, `키위 8개`.
    func counted(_ fruit: LocalizedName) -> TextPair { text(("\(fruit.english) ", ""), ("\(fruit.korean) ", "개")) }
}

// MARK: - Answers in another language

extension Answer {
    /// The message in a language that may not be the service's: the answer's own if it is in this language, otherwise one made from
    /// the answer's other members. Only the service can say why it rejects a command, so that stays in its language. A juice or
    /// fruit that the menu lacks is named by its id.
    package func message(in language: Language, menu: Menu) -> String {
        let messages = AnswerMessages(menu: menu, language: language)
        return Language(of: message) == language ? message : messages.message(for: self) ?? message
    }
}

extension AnswerMessages {
    fileprivate func message(for answer: Answer) -> String? {
        switch answer.outcome {
        case .juiceMade(let juices, _, _):
            made.before + juices.map(text).joined(separator: ", ") + made.after
        case .outOfStock(_, let missing):
            outOfStock.before
                + zip(missing, missing.indices.reversed()).map { listed(fruit($0.fruit), followedBy: $1) }.joined()
                + outOfStock.after
        case .restocked(let left): restocked + left.map { counted($0, now) }.joined(separator: "; ")
        case .cancelled(let returned, _) where returned.isEmpty: cancelledNothing
        case .cancelled(let returned, _):
            cancelled.before + returned.map { counted($0) }.joined(separator: ", ") + cancelled.after
        case .rejected: nil
        case .answerLost(let was): lost(was)
        }
    }

    private func text(_ item: OrderedJuice) -> String {
        let juice = menu.juiceIndex(id: item.juice).map { menu.juices[$0].name }
        let name = juice ?? LocalizedName(english: item.juice, korean: item.juice)
        guard item.quantity > 1 else { return name.text(in: language) }
        return several(name).before + String(item.quantity) + several(name).after
    }

    private func fruit(_ id: String) -> LocalizedName {
        menu.fruitIndex(id: id).map { menu.fruits[$0].name } ?? LocalizedName(english: id, korean: id)
    }

    private func counted(_ amount: FruitAmount, _ word: String = "") -> String {
        let texts = counted(fruit(amount.fruit))
        return texts.before + word + String(amount.amount) + texts.after
    }
}

/// A Korean particle, whose form depends on the final sound of the word before it.
struct KoreanParticle {
    /// Marks the subject: 파인애플이, 딸기가.
    static let subject = KoreanParticle(afterConsonant: "이", afterVowel: "가", either: "이(가)")
    /// Joins two words: 파인애플과, 딸기와.
    static let and = KoreanParticle(afterConsonant: "과", afterVowel: "와", either: "와(과)")

    private let afterConsonant: String
    private let afterVowel: String
    private let either: String

    /// The word with the particle, in both forms if its final sound is unknown.
    func attached(to word: String) -> String {
        guard let last = word.unicodeScalars.last else { return either }
        return switch last {
        // Syllables come in blocks of 28, one for each final consonant; the first of a block has none.
        case "가"..."힣": word + ((last.value - 0xAC00) % 28 == 0 ? afterVowel : afterConsonant)
        // Decomposed syllables, as some systems write Hangul, end with a vowel or a final consonant.
        case "\u{1161}"..."\u{1175}": word + afterVowel
        case "\u{11A8}"..."\u{11C2}": word + afterConsonant
        // 영, 일, 삼, 육, 칠, 팔, and 이, 사, 오, 구.
        case "0", "1", "3", "6", "7", "8": word + afterConsonant
        case "2", "4", "5", "9": word + afterVowel
        // Letters that end every word with the same sound: melon is 멜론, kiwi 키위. Others vary: fig 피그, peach 피치, lime 라임.
        case "l", "m", "n", "L", "M", "N": word + afterConsonant
        case "a", "i", "o", "u", "w", "y", "A", "I", "O", "U", "W", "Y": word + afterVowel
        default: word + either
        }
    }
}
