import JuiceDomain

/// A language of the service's messages for people.
public enum Language: String, Sendable, CaseIterable {
    /// English, the default.
    case english = "en"
    /// Korean.
    case korean = "ko"
}

extension LocalizedName {
    /// The name in a language.
    public func text(in language: Language) -> String { language == .english ? english : korean }
}

/// The texts around a number or a list.
typealias TextPair = (before: String, after: String)

/// The messages of the service for people, in one language. Those of rejections are whole, the others come in the pieces that an
/// encoder puts together.
struct Phrasebook {
    let menu: Menu
    let language: Language

    func text<Text>(_ english: @autoclosure () -> Text, _ korean: @autoclosure () -> Text) -> Text {
        language == .english ? english() : korean()
    }

    /// Around the juices that were made: `juice made: kiwi juice`.
    var made: TextPair { text(("juice made: ", ""), ("", " 나왔습니다! 맛있게 드세요!")) }

    /// Around the number of several of a juice: `3 × kiwi juice`.
    func several(_ juice: Juice) -> TextPair { text(("", " × \(juice.name.english)"), ("\(juice.name.korean) ", "잔")) }

    /// Around the list of short fruits.
    var outOfStock: TextPair { text(("out of stock (", ")"), ("", " 모자라요. 재고를 수정할까요?")) }

    /// A short fruit's name, by how many follow it in the list: `딸기, `, `바나나와 `, `키위가`.
    func listed(_ fruit: Fruit) -> (beforeOthers: String, beforeLast: String, last: String) {
        let name = fruit.name.text(in: language)
        return text(
            ("\(name), ", "\(name), ", name),
            ("\(name), ", KoreanParticle.and.attached(to: name) + " ", KoreanParticle.subject.attached(to: name)))
    }

    /// Around the fruits that a cancel returned.
    var cancelled: TextPair { text(("cancelled: ", " returned"), ("취소했어요. ", "를 되돌렸습니다.")) }

    var cancelledNothing: String { text("cancelled: nothing returned", "취소했어요. 되돌린 재고가 없습니다.") }

    /// Before the restocked fruits.
    var restocked: String { text("restocked: ", "재고를 수정했어요: ") }

    /// Around the number of a fruit: `kiwi 8`, `키위 8개`.
    func counted(_ fruit: Fruit) -> TextPair { text(("\(fruit.name.english) ", ""), ("\(fruit.name.korean) ", "개")) }
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
        // Letters that end every word with the same sound: melon is 멜론, kiwi 키위. Others vary: fig, pear.
        case "l", "m", "n", "L", "M", "N": word + afterConsonant
        case "a", "e", "i", "o", "u", "w", "y", "A", "E", "I", "O", "U", "W", "Y": word + afterVowel
        default: word + either
        }
    }
}
