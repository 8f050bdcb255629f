import JuiceMaker
import MessageSamples
import SeededRandom
import Testing

@testable import JuiceMessages

@Suite struct JournalReaderTests {
    private func read<Result>(
        _ value: String,
        menu: Menu = .standard,
        language: Language = .english,
        _ body: (RememberedAnswer) throws -> Result
    ) throws -> Result {
        let reader = JournalReader(encoder: AnswerEncoder(menu: menu, language: language))
        var content = AnswerContent()
        return try withExtendedLifetime(reader) {
            try [UInt8](value).withUnsafeBytes { try body(try reader.answer($0, &content)) }
        }
    }

    private func hasContent(_ value: String, menu: Menu = .standard) throws -> Bool {
        try read(value, menu: menu) { $0.hasContent }
    }

    @Test(arguments: Language.allCases, [1, 5, 12])
    func randomAnswersAreReadBack(language: Language, fruits: Int) throws {
        var generator = SeededGenerator(seed: 20_240_902)
        for menu in [.standard, try RandomSamples.menu(fruits: fruits, &generator)] {
            var leftover = AnswerContent()
            let samples = AnswerSamples(menu: menu, language: language)
            let reader = JournalReader(encoder: samples.encoder)
            let stranger = JournalReader(
                encoder: AnswerEncoder(menu: menu, language: language == .english ? .korean : .english)
            )
            for _ in 0..<1_000 {
                let sample = try samples.random(&generator)
                let expected = try #require(sample.content)
                for isDuplicate in [false, true] {
                    let value = samples.text(expected, of: sample, isDuplicate: isDuplicate)
                    try [UInt8](value).withUnsafeBytes { bytes in
                        // What an earlier record left must not matter.
                        var content = leftover
                        let answer = try reader.answer(bytes, &content)
                        #expect(answer.head.command == sample.command)
                        #expect(answer.head.offset == sample.offset)
                        #expect(answer.head.from == sample.from)
                        #expect(answer.revision == expected.revision)
                        #expect(String(answer.head.id) == sample.id)
                        #expect(String(answer.head.store) == sample.store)
                        #expect(answer.head.isDuplicate == isDuplicate)
                        #expect(answer.hasContent)
                        #expect(content.isSame(as: expected))
                        leftover = content
                        #expect(try !stranger.answer(bytes, &content).hasContent)
                    }
                }
            }
        }
    }

    /// What restores the stock: whatever the language, and whether the command was a repeat or not.
    @Test func theLevelsOfTheAnswerReadLastAreAtHand() throws {
        func levels(_ value: String, _ menu: Menu = .standard) throws -> [String] {
            let reader = JournalReader(encoder: AnswerEncoder(menu: menu))
            var (content, levels) = (AnswerContent(), [String]())
            // An answer without levels does not keep those of the one before.
            for value in [GoldenAnswers.restocked[.english], value] {
                levels = []
                try [UInt8](value).withUnsafeBytes { bytes in
                    _ = try reader.read(bytes, into: &content)
                    reader.forEachLevel { levels.append("\(menu.fruits[$0].id) \($1)") }
                }
            }
            return levels
        }
        for language in Language.allCases {
            #expect(try levels(GoldenAnswers.basketMade[language]) == ["kiwi 4", "strawberry 0", "banana 9"])
            #expect(
                try levels(GoldenAnswers.cancelled[language]) == ["kiwi 14", "strawberry 26", "banana 10"]
            )
            #expect(try levels(GoldenAnswers.cancelledNothing[language]) == [])
            #expect(try levels(GoldenAnswers.outOfStock[language]) == [])
            #expect(try levels(GoldenAnswers.rejectedOrder[language]) == [])
        }
        #expect(try levels(GoldenNotes.all[0].value) == [])
        let fruit = Fruit(id: "banana", name: LocalizedName(english: "banana", korean: "바나나"))
        let name = LocalizedName(english: "banana juice", korean: "바나나쥬스")
        let bananas = try Menu(
            fruits: [fruit],
            juices: [JuiceSpec(id: "b", name: name, recipe: ["banana": 1])]
        )
        #expect(try levels(GoldenAnswers.basketMade[.english], bananas) == ["banana 9"])
    }

    @Test(
        arguments: [
            (GoldenAnswers.juiceMade, .first), (GoldenAnswers.outOfStock, .first),
            (GoldenAnswers.restocked, .first), (GoldenAnswers.cancelled, .cancel),
            (GoldenAnswers.cancelledNothing, .cancel), (GoldenAnswers.rejectedOrder, .first),
            (GoldenAnswers.rejectedRestock, .first), (GoldenAnswers.rejectedCancel, .first),
            (GoldenAnswers.rejectedCancelledOrder, .afterCancel),
        ] as [(Bilingual, RememberedAnswer.Role)]
    )
    func whatItMeansForRepeatsDependsOnNoLanguage(answers: Bilingual, role: RememberedAnswer.Role) throws {
        for value in answers.texts { #expect(try read(value) { $0.role } == role) }
    }

    @Test(arguments: CommandKind.allCases)
    func aRejectionNeedsATemplate(command: CommandKind) throws {
        try read(AnswerSamples().rejection(of: command).value) { answer in
            #expect(answer.head.command == command)
            #expect(answer.head.id == BorrowedText("1"))
            #expect(answer.head.store == BorrowedText("main"))
            #expect(!answer.head.isDuplicate)
            #expect(!answer.hasContent)
        }
    }

    @Test func anAnswerByAnotherMenuNeedsATemplate() throws {
        let fruits = Menu.standard.fruits
        func menu(_ name: String = "kiwi juice", kiwis: Int = 3, id: String = "kiwi") throws -> Menu {
            let juice = { (id: String, name: String, recipe: JuiceSpec.Recipe) in
                JuiceSpec(id: id, name: LocalizedName(english: name, korean: name), recipe: recipe)
            }
            return try Menu(
                fruits: fruits.reversed(),
                juices: [juice("mango", "mango juice", ["mango": 3]), juice(id, name, ["kiwi": kiwis])]
            )
        }
        let made = try AnswerSamples().order(.single(2), levels: [10, 10, 10, 10, 10])
        let short = try AnswerSamples().order(.single(2, 5), levels: [10, 10, 10, 10, 10])
        for answer in [made, short] {
            // Only the bytes count: juices and fruits may have other places.
            #expect(try hasContent(answer.value, menu: menu()))
            #expect(try !hasContent(answer.value, menu: menu(kiwis: 4)))
            #expect(try !hasContent(answer.value, menu: menu(id: "green")))
        }
        #expect(try !hasContent(made.value, menu: menu("green juice")))
        // The fruits come in another order.
        let restock = try AnswerSamples().restock([(0, 1), (1, 2)])
        #expect(try !hasContent(restock.value, menu: menu()))
        #expect(try hasContent(AnswerSamples().restock([(0, 1)]).value, menu: menu()))
    }

    @Test(
        arguments: [
            // As the service writes it, to show that what is changed below makes the difference.
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                true
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8},"message":"restocked: kiwi 8"} "#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8},"message":"restocked: kiwi 9"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":-8},"message":"restocked: kiwi -8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":1000000001},"#
                    + #""message":"restocked: kiwi 1000000001"}"#, false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8.0},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{},"message":"restocked: "}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"plum":8},"message":"restocked: plum 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":[],"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","orderId":"r","store":"s","offset":1,"left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8},"message":"restocked: kiwi 8","x":1}"#,
                false
            ),
            (#"{"type":"juiceMade","orderId":"o","store":"s","offset":1}"#, false),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":1,"left":{"kiwi":"7"}}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":1,"missing":[7]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":1,"missing":[]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","offset":1,"juice":"plum","quantity":1,"missing":[]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":9223372036854775807,"#
                    + #""missing":[{"fruit":"kiwi","inStock":9223372036854775807}]}"#, false
            ),
            (#"{"type":"smoothieMade","orderId":"o","store":"s","offset":1}"#, false),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":8},"revision":9,"message":"restocked: kiwi 8"}"#,
                true
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"mango":8},"revision":9,"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"revision":9,"left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{},"left":{},"message":"cancelled: nothing returned"}"#,
                true
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{},"left":{},"revision":9,"#
                    + #""message":"cancelled: nothing returned"}"#, false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{"kiwi":1},"left":{"kiwi":2},"revision":9,"#
                    + #""message":"cancelled: kiwi 1 returned"}"#, true
            ),
            // The levels are those of the fruits that were returned, each of which is named once.
            (
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{"kiwi":1},"left":{"mango":2},"revision":9,"#
                    + #""message":"cancelled: kiwi 1 returned"}"#, false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{"kiwi":1,"kiwi":1},"#
                    + #""left":{"kiwi":2,"kiwi":2},"revision":9,"message":"cancelled: kiwi 1, kiwi 1 returned"}"#,
                false
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","offset":1,"items":[{"juice":"kiwi","quantity":1}],"#
                    + #""used":{"kiwi":3},"left":{"kiwi":7},"revision":9,"message":"juice made: kiwi juice"}"#,
                true
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","offset":1,"items":[{"juice":"kiwi","quantity":2001}],"#
                    + #""used":{"kiwi":6003},"left":{"kiwi":7},"revision":9,"message":"juice made: 2001 × kiwi juice"}"#,
                false
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","offset":1,"items":[],"used":{},"left":{},"revision":9,"message":"m"}"#,
                false
            ),
            (#"{"type":"outOfStock","orderId":"o","store":"s","offset":1,"items":[7],"missing":[]}"#, false),
        ]
    )
    func onlyWhatIsWrittenTheSameWayHasAContent(value: String, isContent: Bool) throws {
        #expect(try hasContent(value) == isContent)
        // What is not can be given again by its template, at the place of the repeat.
        let again = try read(value) { answer in
            written { buffer in
                [UInt8](value).withUnsafeBytes { bytes in
                    var numbers: [Int] = []
                    let head = answer.head
                    let template = AnswerTemplate(of: bytes, head, numbers: &numbers)
                    template.write(
                        AnswerHead(head.command, id: head.id, store: head.store, offset: 77),
                        numbers: numbers,
                        into: &buffer
                    )
                }
            }
        }
        #expect(try read(again) { $0.head.isDuplicate && $0.head.offset == 77 })
    }

    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"), ("{}", "type: missing"),
            (#"{"type":1}"#, "type: must be a string"),
            (#"{"type":"a","type":"a"}"#, "type: given twice"),
            (#"{"orderId":"o","store":"s","offset":1}"#, "type: missing"),
            (#"{"type":"a,b","orderId":"o","store":"s","offset":1}"#, "type: must not have a comma"),
            (
                #"{"type":"rejected","orderId":"1","restockId":"1","store":"s","offset":1}"#,
                "must have either an orderId or a restockId, once"
            ),
            (#"{"type":"rejected","orderId":1,"store":"s","offset":1}"#, "orderId: must be a string"),
            (
                #"{"type":"rejected","restockId":"","store":"s","offset":1}"#,
                "restockId: must be of 1 to 128 bytes"
            ),
            (#"{"type":"rejected","orderId":"1"}"#, "store: missing"),
            (
                #"{"type":"rejected","orderId":"1","store":"\#(String(repeating: "s", count: 129))","offset":1}"#,
                "store: must be of 1 to 128 bytes"
            ),
            (#"{"type":"rejected","orderId":"1","store":"s"}"#, "offset: missing"),
            (
                #"{"type":"rejected","orderId":"1","store":"s","offset":1.0}"#,
                "offset: must be a whole number"
            ),
            (
                #"{"type":"rejected","duplicate":1,"orderId":"1","store":"s","offset":1}"#,
                "duplicate: must be true"
            ),
            (
                #"{"type":"juiceMade","orderId":"1","store":"s","offset":1,"revision":0}"#,
                "revision: must be from 1 to 9223372036854775807"
            ),
            (#"{"type":"juiceMade","orderId":"1","store":"s","offset":1,"revision":1}"#, "left: missing"),
            (
                #"{"type":"juiceMade","orderId":"1","store":"s","offset":1,"left":{"kiwi":-1},"revision":1}"#,
                "left: must have an amount for each fruit"
            ),
        ]
    )
    func whatIsNeverWrittenIsRefused(value: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try read(value) { _ in } }
        #expect(error?.description == problem)
    }

    /// A template would put the place of the repeat elsewhere, or give a member twice.
    @Test(
        arguments: [
            #"{"orderId":"o","type":"rejected","store":"s","offset":1}"#,
            #"{"type":"rejected","store":"s","orderId":"o","offset":1}"#,
            #"{"type":"rejected","orderId":"o","offset":1,"store":"s"}"#,
            #"{"type":"rejected","orderId":"o","store":"s","reason":"r","offset":1}"#,
            #"{"type":"rejected","orderId":"o","store":"s","offset":1,"x":1,"from":"3/42"}"#,
            #"{"type":"rejected","orderId":"o","duplicate":true,"store":"s","offset":1}"#,
            #"{"type":"rejected","orderId":"\u0072","store":"s","offset":1}"#,
            #" {"type":"rejected","orderId":"o","store":"s","offset":1}"#,
        ]
    )
    func anAnswerBeginsWithItsHead(value: String) {
        let error = #expect(throws: MalformedMessage.self) { try read(value) { _ in } }
        #expect(error?.problem == "must begin with the members that all answers have, in their order")
    }

    @Test(
        arguments: [
            (#"{"type":"holiday"}"#, nil), (#"{"type":"holiday","topic":"stock","offset":1}"#, nil),
            (#"{"type":"holiday","topic":"orders"}"#, nil),
            (
                #"{"offset":7,"x":[1],"topic":"restocks","type":"holiday"}"#,
                InputPlace(topic: .restocks, partition: nil, offset: 7)
            ),
            (
                #"{"type":"holiday","topic":"orders","partition":9,"offset":7}"#,
                InputPlace(topic: .orders, partition: 9, offset: 7)
            ),
        ] as [(String, InputPlace?)]
    )
    func aTypeOfANewerServiceMayNameAPlace(value: String, place: InputPlace?) throws {
        guard case .unknown(let found) = try entry(value) else { throw Unexpected() }
        #expect(found == place)
    }

    @Test(arguments: GoldenNotes.all.indices)
    func aNoteIsReadAmongAnswers(index: Int) throws {
        let (note, value) = GoldenNotes.all[index]
        guard case .note(note) = try entry(value) else { throw Unexpected() }
    }

    private func entry(_ value: String) throws -> JournalEntry {
        let reader = JournalReader(encoder: AnswerEncoder(menu: .standard))
        var content = AnswerContent()
        return try [UInt8](value).withUnsafeBytes { try reader.read($0, into: &content) }
    }
}

private struct Unexpected: Error {}

extension JournalReader {
    fileprivate func answer(
        _ value: UnsafeRawBufferPointer,
        _ content: inout AnswerContent
    ) throws -> RememberedAnswer {
        guard case .answer(let answer) = try read(value, into: &content) else { throw Unexpected() }
        return answer
    }
}
