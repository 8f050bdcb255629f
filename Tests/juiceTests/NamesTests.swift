import JuiceClient
import JuiceMaker
import Testing

@testable import juice

struct NamesTests {
    let names = MenuNames(menu: .standard)

    @Test(arguments: [
        ("mangoKiwi", "mangoKiwi"), ("mango", "mango"), ("딸바쥬스", "strawberryBanana"),
        ("strawberry banana juice", "strawberryBanana"), ("mangokiwi", "mangoKiwi"), ("MANGO", "mango"),
        ("Mango Kiwi Juice", "mangoKiwi"), ("망고 키위 쥬스", "mangoKiwi"), ("망키쥬스", "mangoKiwi"),
        // Decomposed, as some keyboards and file systems write it.
        ("\u{1106}\u{1161}\u{11BC}\u{1100}\u{1169}\u{110C}\u{1172}\u{1109}\u{1173}", "mango"),
    ])
    func findsJuicesByIDNameAndAlias(text: String, id: String) throws {
        #expect(try names.juice(text) == id)
    }

    @Test(arguments: [("Mango", "mango"), ("파인 애플", "pineapple")])
    func findsFruitsByIDAndName(text: String, id: String) throws {
        #expect(try names.fruit(text) == id)
    }

    @Test func asksForTheIDIfSeveralShareAName() throws {
        func spec(_ id: String) -> JuiceSpec {
            JuiceSpec(id: id, name: LocalizedName(english: "Fig Juice", korean: "무화과쥬스"), recipe: ["fig": 1])
        }
        let menu = try Menu(
            fruits: [Fruit(id: "fig", name: LocalizedName(english: "fig", korean: "무화과"))], juices: [spec("small"), spec("large")])
        let failure = #expect(throws: Failure.self) { try MenuNames(menu: menu).juice("fig juice") }
        #expect(failure?.message == #"more than one juice is called "fig juice"; did you mean small or large?"#)
        #expect(failure?.status == .usage)
        #expect(try MenuNames(menu: menu).juice("small") == "small")
    }

    @Test(arguments: [
        ("mango kwi", #"no juice is called "mango kwi"; did you mean mangoKiwi?"#),
        ("망키쥬수", #"no juice is called "망키쥬수"; did you mean mangoKiwi or mango?"#),
        ("kwii", #"no juice is called "kwii"; did you mean kiwi?"#),
        ("망고쥬수", #"no juice is called "망고쥬수"; did you mean mango or mangoKiwi?"#),
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
