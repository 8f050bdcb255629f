import JuiceMaker
import Testing

@testable import JuiceMessages

@Suite struct AnswerEncoderTests {
    /// Orders a juice of a store at these levels and writes the answer.
    private func answer(
        _ juice: String,
        _ quantity: Int = 1,
        levels: [Int],
        menu: Menu = .standard,
        _ language: Language,
        id: StaticString = "pos-7-000123",
        duplicate: Bool = false
    ) throws -> String {
        let index = try #require(menu.juiceIndex(id: juice))
        let order = OrderCommand(id: BorrowedText(id), juice: index, quantity: quantity)
        let encoder = AnswerEncoder(menu: menu, language: language)
        var store = try FruitStore(levels: levels)
        let storeID = BorrowedText("gangnam")
        let outcome = JuiceMaker(menu: menu).make(index, quantity: quantity, from: &store)
        return written { buffer in
            switch outcome {
            case .made:
                encoder.juiceMade(order, store: storeID, left: store, duplicate: duplicate, into: &buffer)
            case .outOfStock(let shortages):
                encoder.outOfStock(
                    order,
                    store: storeID,
                    shortages: shortages,
                    duplicate: duplicate,
                    into: &buffer
                )
            }
        }
    }

    private func restocked(
        _ edit: StockEdit,
        levels: [Int],
        _ language: Language,
        duplicate: Bool = false
    ) throws -> String {
        let store = try FruitStore(levels: levels)
        let restock = RestockCommand(id: BorrowedText("bot-1-42"), edit: edit)
        return written {
            AnswerEncoder(menu: .standard, language: language)
                .restocked(restock, store: BorrowedText("main"), left: store, duplicate: duplicate, into: &$0)
        }
    }

    @Test func juiceMade() throws {
        let head =
            #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","juice":"strawberryBanana","#
        let one =
            #""quantity":1,"used":{"strawberry":10,"banana":1},"left":{"strawberry":0,"banana":9},"message":"#
        let levels = [10, 10, 10, 10, 10]
        #expect(
            try answer("strawberryBanana", levels: levels, .english)
                == head + one + #""juice made: strawberry banana juice"}"#
        )
        #expect(
            try answer("strawberryBanana", levels: levels, .korean)
                == head + one + #""딸바쥬스 나왔습니다! 맛있게 드세요!"}"#
        )
    }

    @Test func severalJuicesMade() throws {
        let head =
            #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","juice":"mangoKiwi","quantity":3,"#
            + #""used":{"mango":6,"kiwi":3},"left":{"mango":4,"kiwi":7},"message":"#
        let levels = [10, 10, 10, 10, 10]
        #expect(
            try answer("mangoKiwi", 3, levels: levels, .english) == head
                + #""juice made: 3 × mango kiwi juice"}"#
        )
        #expect(
            try answer("mangoKiwi", 3, levels: levels, .korean)
                == head + #""망고키위쥬스 3잔 나왔습니다! 맛있게 드세요!"}"#
        )
    }

    @Test func outOfStock() throws {
        let head =
            #"{"type":"outOfStock","orderId":"pos-7-000123","store":"gangnam","juice":"mangoKiwi","quantity":1,"#
            + #""fruit":"mango","missing":[{"fruit":"mango","needed":2,"inStock":1},"#
            + #"{"fruit":"kiwi","needed":1,"inStock":0}],"message":"#
        let levels = [10, 10, 10, 0, 1]
        #expect(try answer("mangoKiwi", levels: levels, .english) == head + #""out of stock (mango, kiwi)"}"#)
        #expect(
            try answer("mangoKiwi", levels: levels, .korean) == head + #""망고와 키위가 모자라요. 재고를 수정할까요?"}"#
        )
    }

    @Test(
        arguments: [
            ([10], "out of stock (strawberry)", "딸기가 모자라요. 재고를 수정할까요?"),
            ([10, 0, 0], "out of stock (pineapple)", "파인애플이 모자라요. 재고를 수정할까요?"),
            ([10, 0, 10], "out of stock (banana)", "바나나가 모자라요. 재고를 수정할까요?"),
        ] as [([Int], String, String)]
    )
    func oneFruitShort(levels: [Int], english: String, korean: String) throws {
        let juice = levels.count == 1 ? "strawberry" : levels[2] == 0 ? "pineapple" : "banana"
        let levels = levels + Array(repeating: 0, count: 5 - levels.count)
        #expect(try answer(juice, levels: levels, .english).hasSuffix(#","message":"\#(english)"}"#))
        #expect(try answer(juice, levels: levels, .korean).hasSuffix(#","message":"\#(korean)"}"#))
    }

    @Test func manyFruitsShort() throws {
        let fruits = Menu.standard.fruits
        func punch(_ ids: JuiceSpec.Recipe) throws -> Menu {
            let name = LocalizedName(english: "punch", korean: "펀치")
            return try Menu(fruits: fruits, juices: [JuiceSpec(id: "punch", name: name, recipe: ids)])
        }
        let three = try punch(["strawberry": 1, "banana": 1, "kiwi": 1])
        let none = [0, 0, 0, 0, 0]
        #expect(
            try answer("punch", levels: none, menu: three, .korean)
                .hasSuffix(#""딸기, 바나나와 키위가 모자라요. 재고를 수정할까요?"}"#)
        )
        #expect(
            try answer("punch", levels: none, menu: three, .english)
                .hasSuffix(#""out of stock (strawberry, banana, kiwi)"}"#)
        )
        let four = try punch(["mango": 1, "kiwi": 1, "pineapple": 1, "banana": 1])
        #expect(
            try answer("punch", levels: none, menu: four, .korean)
                .hasSuffix(#""망고, 키위, 파인애플과 바나나가 모자라요. 재고를 수정할까요?"}"#)
        )
    }

    @Test func restocked() throws {
        let edit = StockEdit(
            .add,
            [StockEdit.Entry(fruit: 0, amount: 16), StockEdit.Entry(fruit: 3, amount: -2)]
        )
        let head =
            #"{"type":"restocked","restockId":"bot-1-42","store":"main","left":{"strawberry":16,"kiwi":8},"message":"#
        let levels = [16, 10, 10, 8, 10]
        #expect(
            try restocked(edit, levels: levels, .english) == head + #""restocked: strawberry 16, kiwi 8"}"#
        )
        #expect(
            try restocked(edit, levels: levels, .korean) == head + #""재고를 수정했어요: 딸기 16개, 키위 8개"}"#
        )
    }

    @Test func rejected() {
        func rejected(_ kind: CommandKind, _ language: Language) -> String {
            written {
                AnswerEncoder(menu: .standard, language: language).rejected(
                    kind,
                    id: BorrowedText("1"),
                    store: BorrowedText("gangnam"),
                    rejection: .unknownJuice("durian"),
                    into: &$0
                )
            }
        }
        #expect(
            rejected(.order, .english)
                == #"{"type":"rejected","orderId":"1","store":"gangnam","reason":"unknownJuice","#
                + #""message":"no juice is called \"durian\""}"#
        )
        #expect(
            rejected(.restock, .korean)
                == #"{"type":"rejected","restockId":"1","store":"gangnam","reason":"unknownJuice","#
                + #""message":"메뉴에 없는 쥬스예요: \"durian\""}"#
        )
    }

    @Test func stock() throws {
        let store = try FruitStore(levels: [0, 9, 10, 1_000_000_000, 10])
        let record = written {
            AnswerEncoder(menu: .standard).stock(
                store: BorrowedText("gang\"nam"),
                revision: 17,
                levels: store,
                into: &$0
            )
        }
        #expect(
            record
                == #"{"store":"gang\"nam","revision":17,"stock":"#
                + #"{"strawberry":0,"banana":9,"pineapple":10,"kiwi":1000000000,"mango":10}}"#
        )
    }

    @Test func aDuplicateSaysSoAfterItsType() throws {
        let levels = [10, 10, 10, 10, 10]
        let edit = StockEdit(.set, [StockEdit.Entry(fruit: 0, amount: 10)])
        let answers = [false, true].map { duplicate in
            Result {
                [
                    try answer("kiwi", levels: levels, .english, duplicate: duplicate),
                    try answer("strawberry", levels: levels, .english, duplicate: duplicate),
                    try restocked(edit, levels: levels, .english, duplicate: duplicate),
                    written {
                        AnswerEncoder(menu: .standard).rejected(
                            .order,
                            id: BorrowedText("1"),
                            store: BorrowedText("main"),
                            rejection: .badQuantity,
                            duplicate: duplicate,
                            into: &$0
                        )
                    },
                ]
            }
        }
        for (first, again) in zip(try answers[0].get(), try answers[1].get()) {
            #expect(again == first.replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1))
            // The other way to get there, from the bytes of the first answer.
            let copied = written { buffer in
                [UInt8](first).withUnsafeBytes { AnswerEncoder.duplicate(of: $0, into: &buffer) }
            }
            #expect(copied == again)
        }
    }

    @Test func textsFromOutsideAreEscaped() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "a\"b", name: LocalizedName(english: "a\\b", korean: "\u{1}"))],
            juices: [
                JuiceSpec(id: "\n", name: LocalizedName(english: "\t", korean: "\u{1f}"), recipe: ["a\"b": 2])
            ]
        )
        #expect(
            try answer("\n", levels: [2], menu: menu, .english, id: "\"\\\u{0}\r")
                == #"{"type":"juiceMade","orderId":"\"\\\u0000\r","store":"gangnam","juice":"\n","quantity":1,"#
                + #""used":{"a\"b":2},"left":{"a\"b":0},"message":"juice made: \t"}"#
        )
        #expect(
            try answer("\n", levels: [1], menu: menu, .korean)
                .hasSuffix(#""message":"\u0001이(가) 모자라요. 재고를 수정할까요?"}"#)
        )
    }
}
