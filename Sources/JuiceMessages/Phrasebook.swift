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
    public func text(in language: Language) -> String {
        switch language {
        case .english: english
        case .korean: korean
        }
    }
}

/// The messages of the service for people, in one language.
///
/// Fixed messages are whole, the others come in the pieces that an encoder puts together.
struct Phrasebook {
    let menu: Menu
    let language: Language

    func name(ofFruit fruit: Int) -> String { menu.fruits[fruit].name.text(in: language) }
}

// MARK: - Answers to orders

extension Phrasebook {
    /// The text around the juices that were made.
    var made: (before: String, after: String) {
        switch language {
        case .english: ("juice made: ", "")
        case .korean: ("", " 나왔습니다! 맛있게 드세요!")
        }
    }

    /// One of a juice: `kiwi juice`.
    func one(ofJuice juice: Int) -> String { menu.juices[juice].name.text(in: language) }

    /// The text around the number of several of a juice: `3 × kiwi juice`.
    func several(ofJuice juice: Int) -> (before: String, after: String) {
        let name = menu.juices[juice].name.text(in: language)
        return switch language {
        case .english: ("", " × \(name)")
        case .korean: ("\(name) ", "잔")
        }
    }

    /// The text around the list of short fruits.
    var outOfStock: (before: String, after: String) {
        switch language {
        case .english: ("out of stock (", ")")
        case .korean: ("", " 모자라요. 재고를 수정할까요?")
        }
    }

    /// The forms of a short fruit's name, by how many follow it: `딸기, `, `바나나와 `, `키위가`.
    struct ListedFruit {
        let beforeOthers: String
        let beforeLast: String
        let last: String
    }

    func listed(fruit: Int) -> ListedFruit {
        let name = name(ofFruit: fruit)
        return switch language {
        case .english: ListedFruit(beforeOthers: "\(name), ", beforeLast: "\(name), ", last: name)
        case .korean:
            ListedFruit(
                beforeOthers: "\(name), ", beforeLast: KoreanParticle.and.attached(to: name) + " ",
                last: KoreanParticle.subject.attached(to: name))
        }
    }
}

// MARK: - Answers to cancels

extension Phrasebook {
    /// The text around the fruits that a cancel returned: `cancelled: kiwi 6 returned`.
    var cancelled: (before: String, after: String) {
        switch language {
        case .english: ("cancelled: ", " returned")
        case .korean: ("취소했어요. ", "를 되돌렸습니다.")
        }
    }

    /// The message for a cancel that returned nothing.
    var cancelledNothing: String {
        switch language {
        case .english: "cancelled: nothing returned"
        case .korean: "취소했어요. 되돌린 재고가 없습니다."
        }
    }
}

// MARK: - Answers to restocks

extension Phrasebook {
    /// The text before the restocked fruits.
    var restocked: String {
        switch language {
        case .english: "restocked: "
        case .korean: "재고를 수정했어요: "
        }
    }

    /// The text around the number of a fruit: `kiwi 8`, `키위 8개`.
    func counted(fruit: Int) -> (before: String, after: String) {
        switch language {
        case .english: ("\(name(ofFruit: fruit)) ", "")
        case .korean: ("\(name(ofFruit: fruit)) ", "개")
        }
    }
}

// MARK: - Rejections

extension Phrasebook {
    func message(for rejection: Rejection) -> String {
        switch language {
        case .english: englishMessage(for: rejection)
        case .korean: koreanMessage(for: rejection)
        }
    }

    private func englishMessage(for rejection: Rejection) -> String {
        switch rejection {
        case .unknownJuice(let id): "no juice is called \"\(id)\""
        case .unknownFruit(let id): "no fruit is called \"\(id)\""
        case .badQuantity: "the quantity must be a whole number from 1 to 100"
        case .badAmount(let fruit): "the amount of \(name(ofFruit: fruit)) must be a whole number"
        case .wouldGoNegative(let fruit, let inStock): "\(name(ofFruit: fruit)) cannot go below 0 (in stock: \(inStock))"
        case .wouldOverflow(let fruit, let inStock):
            "\(name(ofFruit: fruit)) cannot go above \(FruitStore.maximumLevel) (in stock: \(inStock))"
        case .emptyRestock: "the restock names no fruit, neither in \"add\" nor in \"set\""
        case .badCommand(.missingJuice): "the order names no juice"
        case .badCommand(.juiceNotText): "the juice must be a string"
        case .badCommand(.juiceAndItems): "an order has either \"juice\" or \"items\", not both"
        case .badCommand(.quantityAndItems): "the quantities of a basket stand in its \"items\""
        case .badCommand(.noItems): "\"items\" is empty"
        case .badCommand(.tooManyItems): "a basket holds at most \(JuiceOrder.mostItems) items"
        case .badCommand(.itemNotAnObject): "an item must be an object with a juice and a quantity"
        case .badCommand(.notAnArray(let field)): "\"\(field.rawValue)\" must be an array"
        case .badCommand(.notBoolean(let field)): "\"\(field.rawValue)\" must be true or false"
        case .cancelled: "the order was cancelled"
        case .badCommand(.addAndSet): "a restock has either \"add\" or \"set\", not both"
        case .badCommand(.notAnObject(let field)): "\"\(field.rawValue)\" must be an object of amounts by fruit"
        case .badCommand(.repeatedField(let field)): "\"\(field.rawValue)\" is given twice"
        case .badCommand(.repeatedFruit(let fruit)): "\(name(ofFruit: fruit)) is given twice"
        }
    }

    private func koreanMessage(for rejection: Rejection) -> String {
        switch rejection {
        case .unknownJuice(let id): "메뉴에 없는 쥬스예요: \"\(id)\""
        case .unknownFruit(let id): "메뉴에 없는 과일이에요: \"\(id)\""
        case .badQuantity: "수량은 1부터 100까지의 정수여야 해요"
        case .badAmount(let fruit): "\(name(ofFruit: fruit)) 수량은 정수여야 해요"
        case .wouldGoNegative(let fruit, let inStock): "\(name(ofFruit: fruit)) 재고는 0보다 작아질 수 없어요 (현재 \(inStock)개)"
        case .wouldOverflow(let fruit, let inStock):
            "\(name(ofFruit: fruit)) 재고는 \(FruitStore.maximumLevel)개를 넘을 수 없어요 (현재 \(inStock)개)"
        case .emptyRestock: "수정할 과일이 없어요. \"add\"나 \"set\"에 과일을 적어 주세요"
        case .badCommand(.missingJuice): "주문에 쥬스가 없어요"
        case .badCommand(.juiceNotText): "쥬스는 문자열이어야 해요"
        case .badCommand(.juiceAndItems): "\"juice\"와 \"items\"는 함께 쓸 수 없어요"
        case .badCommand(.quantityAndItems): "장바구니의 수량은 \"items\" 안에 적어 주세요"
        case .badCommand(.noItems): "\"items\"가 비어 있어요"
        case .badCommand(.tooManyItems): "한 번에 \(JuiceOrder.mostItems)가지까지만 주문할 수 있어요"
        case .badCommand(.itemNotAnObject): "주문 항목은 쥬스와 수량을 담은 객체여야 해요"
        case .badCommand(.notAnArray(let field)): "\"\(field.rawValue)\" 값은 배열이어야 해요"
        case .badCommand(.notBoolean(let field)): "\"\(field.rawValue)\" 값은 true나 false여야 해요"
        case .cancelled: "취소된 주문이에요"
        case .badCommand(.addAndSet): "\"add\"와 \"set\"은 함께 쓸 수 없어요"
        case .badCommand(.notAnObject(let field)): "\"\(field.rawValue)\" 값은 과일별 수량을 담은 객체여야 해요"
        case .badCommand(.repeatedField(let field)): "\"\(field.rawValue)\" 필드가 두 번 나왔어요"
        case .badCommand(.repeatedFruit(let fruit)): "\(KoreanParticle.subject.attached(to: name(ofFruit: fruit))) 두 번 나왔어요"
        }
    }
}

/// A Korean particle, whose form depends on the final sound of the word before it.
enum KoreanParticle {
    /// Marks the subject: 파인애플이, 딸기가.
    case subject
    /// Joins two words: 파인애플과, 딸기와.
    case and

    /// The word with the particle.
    func attached(to word: String) -> String {
        switch (self, Ending(of: word)) {
        case (.subject, .consonant): word + "이"
        case (.subject, .vowel): word + "가"
        case (.subject, .unknown): word + "이(가)"
        case (.and, .consonant): word + "과"
        case (.and, .vowel): word + "와"
        case (.and, .unknown): word + "와(과)"
        }
    }

    /// The final sound of a word, as Koreans read it.
    private enum Ending {
        case consonant, vowel, unknown

        init(of word: String) {
            guard let last = word.unicodeScalars.last else {
                self = .unknown
                return
            }
            switch last {
            // Syllables come in blocks of 28, one for each final consonant; the first of a block has none.
            case "가"..."힣": self = (last.value - 0xAC00) % 28 == 0 ? .vowel : .consonant
            // Decomposed syllables, as some systems write Hangul, end with a vowel or a final consonant.
            case "\u{1161}"..."\u{1175}": self = .vowel
            case "\u{11A8}"..."\u{11C2}": self = .consonant
            // 영, 일, 삼, 육, 칠, 팔
            case "0", "1", "3", "6", "7", "8": self = .consonant
            // 이, 사, 오, 구
            case "2", "4", "5", "9": self = .vowel
            // Letters that end every word with the same sound: melon is 멜론, kiwi 키위. Others vary: fig, pear.
            case "l", "m", "n", "L", "M", "N": self = .consonant
            case "a", "e", "i", "o", "u", "w", "y", "A", "E", "I", "O", "U", "W", "Y": self = .vowel
            default: self = .unknown
            }
        }
    }
}
