import JuiceClient
import JuiceMaker
import Testing

@testable import juice

struct NamesTests {
    let names = MenuNames(menu: .standard)

    @Test(arguments: [
        ("mangoKiwi", "mangoKiwi"), ("mango", "mango"), ("딸바쥬스", "strawberryBanana"),
        ("strawberry banana juice", "strawberryBanana"),
        // Decomposed, as some keyboards and file systems write it.
        ("\u{1106}\u{1161}\u{11BC}\u{1100}\u{1169}\u{110C}\u{1172}\u{1109}\u{1173}", "mango"),
    ])
    func findsJuicesByIDAndName(text: String, id: String) throws {
        #expect(try names.juice(text) == id)
    }

    @Test(arguments: [
        ("mangokiwi", #"no juice is called "mangokiwi"; did you mean mangoKiwi?"#),
        ("MANGO", #"no juice is called "MANGO"; did you mean mango?"#),
        ("kwii", #"no juice is called "kwii"; did you mean kiwi?"#),
        ("망고쥬수", #"no juice is called "망고쥬수"; did you mean mango?"#),
        ("durian", #"no juice is called "durian""#),
    ])
    func suggestsTheNearest(text: String, message: String) {
        let failure = #expect(throws: Failure.self) { try names.juice(text) }
        #expect(failure?.message == message)
        #expect(failure?.status == .usage)
    }

    @Test(arguments: [
        ("", "abc", 3), ("abc", "", 3), ("kiwi", "kiwi", 0), ("kiwi", "kwii", 1), ("kiwi", "kiwis", 1),
        ("mango", "mungo", 1), ("kitten", "sitting", 3),
    ])
    func countsTheLettersToChange(first: String, second: String, distance: Int) {
        #expect(NearestNames.distance(Array(first.unicodeScalars), Array(second.unicodeScalars)) == distance)
    }

    @Test(arguments: [
        ([], ""), (["a"], "; did you mean a?"), (["a", "b"], "; did you mean a or b?"),
        (["a", "b", "c"], "; did you mean a, b or c?"),
    ])
    func asksInASentence(names: [String], question: String) {
        #expect(NearestNames.question(names) == question)
    }
}
