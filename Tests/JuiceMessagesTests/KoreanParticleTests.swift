import Testing

@testable import JuiceMessages

@Suite struct KoreanParticleTests {
    @Test(
        arguments: [
            ("딸기", "딸기가", "딸기와"), ("바나나", "바나나가", "바나나와"), ("파인애플", "파인애플이", "파인애플과"),
            ("키위", "키위가", "키위와"), ("망고", "망고가", "망고와"), ("귤", "귤이", "귤과"), ("감", "감이", "감과"),
            ("가", "가가", "가와"), ("힣", "힣이", "힣과"), ("각", "각이", "각과"), ("갸", "갸가", "갸와"),
            // 귤 and 배 in their parts.
            ("\u{1100}\u{1172}\u{11AF}", "\u{1100}\u{1172}\u{11AF}이", "\u{1100}\u{1172}\u{11AF}과"),
            ("\u{1107}\u{1162}", "\u{1107}\u{1162}가", "\u{1107}\u{1162}와"),
            ("melon", "melon이", "melon과"), ("PLUM", "PLUM이", "PLUM과"), ("kiwi", "kiwi가", "kiwi와"),
            ("mango", "mango가", "mango와"), ("strawberry", "strawberry가", "strawberry와"),
            ("fig", "fig이(가)", "fig와(과)"), ("pear", "pear이(가)", "pear와(과)"),
            ("딸기 0", "딸기 0이", "딸기 0과"), ("딸기 1", "딸기 1이", "딸기 1과"), ("딸기 2", "딸기 2가", "딸기 2와"),
            ("딸기 3", "딸기 3이", "딸기 3과"), ("딸기 4", "딸기 4가", "딸기 4와"), ("딸기 5", "딸기 5가", "딸기 5와"),
            ("딸기 6", "딸기 6이", "딸기 6과"), ("딸기 7", "딸기 7이", "딸기 7과"), ("딸기 8", "딸기 8이", "딸기 8과"),
            ("딸기 9", "딸기 9가", "딸기 9와"), ("🍓", "🍓이(가)", "🍓와(과)"), ("梨", "梨이(가)", "梨와(과)"),
            ("배(신고)", "배(신고)이(가)", "배(신고)와(과)"), ("ㄱ", "ㄱ이(가)", "ㄱ와(과)"), ("", "이(가)", "와(과)"),
        ]
    )
    func particleFollowsTheSound(word: String, subject: String, and: String) {
        #expect(Array(KoreanParticle.subject.attached(to: word).utf8) == Array(subject.utf8))
        #expect(Array(KoreanParticle.and.attached(to: word).utf8) == Array(and.utf8))
    }
}
