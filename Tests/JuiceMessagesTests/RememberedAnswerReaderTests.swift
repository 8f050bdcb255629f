import JuiceMaker
import MessageSamples
import SeededRandom
import Testing

@testable import JuiceMessages

@Suite struct RememberedAnswerReaderTests {
    private func read<Result>(
        _ value: String,
        menu: Menu = .standard,
        language: Language = .english,
        _ body: (RememberedAnswer) throws -> Result
    ) throws -> Result {
        let reader = RememberedAnswerReader(encoder: AnswerEncoder(menu: menu, language: language))
        var content = AnswerContent()
        return try withExtendedLifetime(reader) {
            try [UInt8](value).withUnsafeBytes { try body(try reader.read($0, into: &content)) }
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
            let reader = RememberedAnswerReader(encoder: samples.encoder)
            let stranger = RememberedAnswerReader(
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
                        let answer = try reader.read(bytes, into: &content)
                        #expect(answer.head.command == sample.command)
                        #expect(String(answer.head.id) == sample.id)
                        #expect(String(answer.head.store) == sample.store)
                        #expect(answer.head.isDuplicate == isDuplicate)
                        #expect(answer.hasContent)
                        #expect(content.isSame(as: expected))
                        leftover = content
                        #expect(try !stranger.read(bytes, into: &content).hasContent)
                    }
                }
            }
        }
    }

    @Test(arguments: GoldenAnswers.withoutRevision)
    func anAnswerOfAnEarlierVersionIsGivenAgainAsItWas(value: String) throws {
        let encoder = AnswerEncoder(menu: .standard)
        let reader = RememberedAnswerReader(encoder: encoder)
        var content = AnswerContent()
        content.revision = 17
        let again = try withExtendedLifetime(reader) {
            try [UInt8](value).withUnsafeBytes { bytes in
                let answer = try reader.read(bytes, into: &content)
                #expect(answer.hasContent)
                return written { encoder.write(content, answer.head.duplicate, into: &$0) }
            }
        }
        #expect(content.revision == 0)
        #expect(again == value.replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1))
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
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                true
            ),
            (
                #"{"type":"restocked","restockId":"\u0072","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 8"} "#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 9"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":-8},"message":"restocked: kiwi -8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":1000000001},"#
                    + #""message":"restocked: kiwi 1000000001"}"#, false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8.0},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (#"{"type":"restocked","restockId":"r","store":"s","left":{},"message":"restocked: "}"#, false),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"plum":8},"message":"restocked: plum 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":[],"message":"restocked: kiwi 8"}"#,
                false
            ),
            (#"{"type":"restocked","restockId":"r","store":"s","message":"restocked: kiwi 8"}"#, false),
            (
                #"{"type":"restocked","orderId":"r","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"message":"restocked: kiwi 8","x":1}"#,
                false
            ),
            (#"{"type":"juiceMade","orderId":"o","store":"s"}"#, false),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","juice":"kiwi","quantity":1,"left":{"kiwi":"7"}}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","juice":"kiwi","quantity":1,"missing":[7]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","juice":"kiwi","quantity":1,"missing":[]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","juice":"plum","quantity":1,"missing":[]}"#,
                false
            ),
            (
                #"{"type":"outOfStock","orderId":"o","store":"s","juice":"kiwi","quantity":9223372036854775807,"#
                    + #""missing":[{"fruit":"kiwi","inStock":9223372036854775807}]}"#, false
            ),
            (#"{"type":"smoothieMade","orderId":"o","store":"s"}"#, false),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"revision":9,"message":"restocked: kiwi 8"}"#,
                true
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":8},"revision":0,"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"restocked","restockId":"r","store":"s","revision":9,"left":{"kiwi":8},"message":"restocked: kiwi 8"}"#,
                false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","returned":{},"left":{},"message":"cancelled: nothing returned"}"#,
                true
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","returned":{},"left":{},"revision":9,"#
                    + #""message":"cancelled: nothing returned"}"#, false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","returned":{"kiwi":1},"left":{"kiwi":2},"revision":9,"#
                    + #""message":"cancelled: kiwi 1 returned"}"#, true
            ),
            // The levels are those of the fruits that were returned, each of which is named once.
            (
                #"{"type":"cancelled","orderId":"o","store":"s","returned":{"kiwi":1},"left":{"mango":2},"revision":9,"#
                    + #""message":"cancelled: kiwi 1 returned"}"#, false
            ),
            (
                #"{"type":"cancelled","orderId":"o","store":"s","returned":{"kiwi":1,"kiwi":1},"#
                    + #""left":{"kiwi":2,"kiwi":2},"revision":9,"message":"cancelled: kiwi 1, kiwi 1 returned"}"#,
                false
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","items":[{"juice":"kiwi","quantity":1}],"#
                    + #""used":{"kiwi":3},"left":{"kiwi":7},"revision":9,"message":"juice made: kiwi juice"}"#,
                true
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","items":[{"juice":"kiwi","quantity":2001}],"#
                    + #""used":{"kiwi":6003},"left":{"kiwi":7},"revision":9,"message":"juice made: 2001 × kiwi juice"}"#,
                false
            ),
            (
                #"{"type":"juiceMade","orderId":"o","store":"s","items":[],"used":{},"left":{},"revision":9,"message":"m"}"#,
                false
            ),
            (#"{"type":"outOfStock","orderId":"o","store":"s","items":[7],"missing":[]}"#, false),
        ]
    )
    func onlyWhatIsWrittenTheSameWayHasAContent(value: String, isContent: Bool) throws {
        #expect(try hasContent(value) == isContent)
        // What is not can be given again by its template.
        let again = try read(value) { answer in
            written { buffer in
                [UInt8](value).withUnsafeBytes { bytes in
                    var numbers: [Int] = []
                    let template = AnswerTemplate(of: bytes, answer.head, numbers: &numbers)
                    template.write(answer.head, numbers: numbers, into: &buffer)
                }
            }
        }
        #expect(try read(again) { $0.head.isDuplicate })
    }

    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"), ("{}", "type: missing"),
            (#"{"type":1}"#, "type: must be a string"),
            (#"{"type":"a","type":"a"}"#, "type: given twice"),
            (#"{"orderId":"o","type":"rejected","store":"s"}"#, "type: must be the first member"),
            (#"{"type":"a,b","orderId":"o","store":"s"}"#, "type: must not have a comma"),
            (#"{"type":"rejected","store":"s"}"#, "must have either an orderId or a restockId, once"),
            (
                #"{"type":"rejected","orderId":"1","restockId":"1","store":"s"}"#,
                "must have either an orderId or a restockId, once"
            ),
            (#"{"type":"rejected","orderId":1,"store":"s"}"#, "orderId: must be a string"),
            (#"{"type":"rejected","restockId":"","store":"s"}"#, "restockId: must be of 1 to 128 bytes"),
            (#"{"type":"rejected","orderId":"1"}"#, "store: missing"),
            (
                #"{"type":"rejected","orderId":"1","store":"\#(String(repeating: "s", count: 129))"}"#,
                "store: must be of 1 to 128 bytes"
            ),
            (
                #"{"type":"rejected","orderId":"1","store":"s","duplicate":1}"#,
                "duplicate: must be true or false"
            ),
        ]
    )
    func whatIsNoAnswerIsRefused(value: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try read(value) { _ in } }
        #expect(error?.description == problem)
    }
}
