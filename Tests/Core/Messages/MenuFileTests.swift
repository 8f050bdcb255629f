import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct MenuFileTests {
    private func decode(_ json: String) throws -> Menu {
        try json.asValue { try MenuFile.decode($0) }
    }

    static let standard = """
        {
          "fruits": [
            { "id": "strawberry", "name": { "en": "strawberry", "ko": "딸기" }, "initialStock": 10 },
            { "id": "banana", "name": { "en": "banana", "ko": "바나나" }, "initialStock": 10 },
            { "id": "pineapple", "name": { "en": "pineapple", "ko": "파인애플" }, "initialStock": 10 },
            { "id": "kiwi", "name": { "en": "kiwi", "ko": "키위" }, "initialStock": 10 },
            { "id": "mango", "name": { "en": "mango", "ko": "망고" }, "initialStock": 10 }
          ],
          "juices": [
            { "id": "strawberry", "name": { "en": "strawberry juice", "ko": "딸기쥬스" }, "recipe": { "strawberry": 16 } },
            { "id": "banana", "name": { "en": "banana juice", "ko": "바나나쥬스" }, "recipe": { "banana": 2 } },
            { "id": "kiwi", "name": { "en": "kiwi juice", "ko": "키위쥬스" }, "recipe": { "kiwi": 3 } },
            { "id": "pineapple", "name": { "en": "pineapple juice", "ko": "파인애플쥬스" }, "recipe": { "pineapple": 2 } },
            { "id": "strawberryBanana", "name": { "en": "strawberry banana juice", "ko": "딸바쥬스" }, \
        "recipe": { "strawberry": 10, "banana": 1 } },
            { "id": "mango", "name": { "en": "mango juice", "ko": "망고쥬스" }, "recipe": { "mango": 3 } },
            { "id": "mangoKiwi", "name": { "en": "mango kiwi juice", "ko": "망고키위쥬스" }, \
        "aliases": ["망키쥬스"], "recipe": { "mango": 2, "kiwi": 1 } }
          ]
        }

        """

    @Test func theStandardMenuIsWrittenForPeople() {
        #expect(written { MenuFile.encode(.standard, into: &$0) } == Self.standard)
    }

    @Test func decodesAnEncodedMenu() throws {
        // The built-in menu is built without the checks that a file has to pass.
        #expect(try decode(Self.standard) == .standard)
        let odd = try Menu(
            fruits: [Fruit(id: "\"\\", name: LocalizedName(english: "\n", korean: "가"), initialStock: 1_000_000_000)],
            juices: [
                JuiceSpec(
                    id: "\t",
                    name: LocalizedName(english: "{", korean: "}"),
                    aliases: ["\"", "]"],
                    recipe: [("\"\\", 1)]
                )
            ]
        )
        #expect(try decode(written { MenuFile.encode(odd, into: &$0) }) == odd)
    }

    @Test func missingMembersHaveDefaults() throws {
        let menu = try decode(
            #"""
            {"juices":[{"recipe":{"fig":2,"plum":1},"id":"mix","name":{"en":"fig mix"}},
                       {"recipe":{"fig":1},"id":"fig","aliases":["무화과쥬스","fig juice"]}],
             "fruits":[{"id":"plum"},{"id":"fig","name":{"ko":"무화과"},"initialStock":0}]}
            """#
        )
        #expect(menu.fruits[0] == Fruit(id: "plum", name: LocalizedName(english: "plum", korean: "plum")))
        let fig = Fruit(id: "fig", name: LocalizedName(english: "fig", korean: "무화과"), initialStock: 0)
        #expect(menu.fruits[1] == fig)
        #expect(menu.juices[0].name == LocalizedName(english: "fig mix", korean: "fig mix"))
        #expect(menu.juices.map(\.aliases) == [[], ["무화과쥬스", "fig juice"]])
        #expect(menu.juices[0].recipe.map(\.fruit) == [1, 0])
        #expect(menu.juices[0].recipe.map(\.amount) == [2, 1])
    }

    @Test(arguments: GoldenMenus.malformed)
    func aFaultIsFoundAndItsPlaceNamed(json: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try decode(json) }
        #expect(error?.description == problem)
    }
}
