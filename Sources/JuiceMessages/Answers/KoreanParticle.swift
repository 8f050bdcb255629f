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
