import Testing

@testable import JuiceMessages

@Suite struct BorrowedTextTests {
    @Test(arguments: ["", "a", "1234567", "12345678", "123456789", "딸기", "0123456789abcdef0123456789abcdef!"])
    func equalityIsThatOfBytes(text: String) {
        BorrowedText.withText(text) { first in
            BorrowedText.withText(text + "") { second in #expect(first == second) }
            BorrowedText.withText(text + "x") { longer in #expect(first != longer) }
            // A difference in any one byte counts.
            for position in text.utf8.indices {
                var bytes = Array(text.utf8)
                bytes[text.utf8.distance(from: text.startIndex, to: position)] ^= 1
                bytes.withUnsafeBytes { #expect(first != BorrowedText($0)) }
            }
            #expect(String(first) == text)
        }
    }

    @Test func canonicallyEquivalentTextsDiffer() {
        #expect(BorrowedText("\u{E9}") != BorrowedText("e\u{301}"))
        #expect(BorrowedText("kiwi") == BorrowedText("kiwi"))
    }

    @Test(
        arguments: [
            ("", ""), ("durian", "durian"),
            (String(repeating: "x", count: 64), String(repeating: "x", count: 64)),
            (String(repeating: "x", count: 65), String(repeating: "x", count: 64) + "…"),
            (String(repeating: "🇰🇷", count: 65), String(repeating: "🇰🇷", count: 64) + "…"),
            (String(repeating: "x", count: 65_000), String(repeating: "x", count: 64) + "…"),
            // One character of any length: it is left out rather than cut in two.
            ("ab" + String(repeating: "\u{301}", count: 2000) + "c", "a…"),
            (
                "abc" + String(repeating: "\u{301}", count: 500) + "d",
                "abc" + String(repeating: "\u{301}", count: 500) + "d"
            ),
        ]
    )
    func messagesEchoOnlySoMuch(text: String, clipped: String) {
        #expect(Array(BorrowedText.withText(text) { $0.clipped() }.utf8) == Array(clipped.utf8))
    }
}
