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
        return try [UInt8](value).withUnsafeBytes { try body(try reader.read($0, into: &content)) }
    }

    private func compact(
        _ value: String,
        menu: Menu = .standard,
        language: Language = .english
    ) throws -> CompactAnswer? {
        let reader = RememberedAnswerReader(encoder: AnswerEncoder(menu: menu, language: language))
        var content = AnswerContent()
        let answer = try [UInt8](value).withUnsafeBytes { try reader.read($0, into: &content) }
        return answer.hasContent ? CompactAnswer(content) : nil
    }

    @Test(arguments: Language.allCases, [1, 5, 12])
    func randomAnswersAreReadBack(language: Language, fruits: Int) throws {
        var generator = SeededGenerator(seed: 20_240_902)
        for menu in [.standard, try RandomSamples.menu(fruits: fruits, &generator)] {
            let samples = AnswerSamples(menu: menu, language: language)
            let reader = RememberedAnswerReader(encoder: samples.encoder)
            let stranger = RememberedAnswerReader(
                encoder: AnswerEncoder(menu: menu, language: language == .english ? .korean : .english)
            )
            for _ in 0..<1_000 {
                let sample = try samples.random(&generator)
                let values = [
                    sample.value,
                    sample.compact.flatMap { samples.text($0, of: sample, isDuplicate: true) },
                ]
                for (value, isDuplicate) in zip(values, [false, true]) {
                    guard let value else { continue }
                    try [UInt8](value).withUnsafeBytes { bytes in
                        var content = AnswerContent()
                        let answer = try reader.read(bytes, into: &content)
                        #expect(answer.head.command == sample.command)
                        #expect(String(answer.head.id) == sample.id)
                        #expect(String(answer.head.store) == sample.store)
                        #expect(answer.head.isDuplicate == isDuplicate)
                        #expect(answer.hasContent)
                        #expect(CompactAnswer(content) == sample.compact)
                        #expect((answer.role == .cancel) == (sample.command == .cancel))
                        #expect(!(try stranger.read(bytes, into: &content).hasContent))
                    }
                }
            }
        }
    }

    @Test(arguments: CommandKind.allCases)
    func aRejectionNeedsATemplate(command: CommandKind) throws {
        try read(AnswerSamples().rejection(of: command).value) { answer in
            #expect(answer.head.command == command)
            #expect(answer.head.id == BorrowedText("1"))
            #expect(answer.head.store == BorrowedText("main"))
            #expect(!answer.head.isDuplicate)
            #expect(!answer.hasContent)
            #expect(answer.role == .first)
        }
    }

    @Test func whatAnOrderGetsAfterItsCancelIsToldApart() throws {
        for language in Language.allCases {
            try read(GoldenAnswers.rejectedAsCancelled[language]) { #expect($0.role == .afterCancel) }
            try read(GoldenAnswers.cancelled[language]) { #expect($0.role == .cancel) }
            try read(GoldenAnswers.cancelledNothing[language]) { #expect($0.role == .cancel) }
            try read(GoldenAnswers.basketMade[language]) { #expect($0.role == .first) }
        }
    }

    /// Versions before revisions wrote them so.
    @Test func anAnswerWithoutARevisionIsCompact() throws {
        let value = GoldenAnswers.juiceMade[.english].replacing(#","revision":17"#, with: "")
        #expect(try compact(value) != nil)
        #expect(try compact(value) != compact(GoldenAnswers.juiceMade[.english]))
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
        let made = try AnswerSamples().order(2, 1, levels: [10, 10, 10, 10, 10])
        let short = try AnswerSamples().order(2, 5, levels: [10, 10, 10, 10, 10])
        for answer in [made, short] {
            // Only the bytes count: juices and fruits may have other places.
            #expect(try compact(answer.value, menu: menu()) != nil)
            #expect(try compact(answer.value, menu: menu(kiwis: 4)) == nil)
            #expect(try compact(answer.value, menu: menu(id: "green")) == nil)
        }
        #expect(try compact(made.value, menu: menu("green juice")) == nil)
        // The fruits come in another order.
        let restock = try AnswerSamples().restock([(0, 1), (1, 2)])
        #expect(try compact(restock.value, menu: menu()) == nil)
        #expect(try compact(AnswerSamples().restock([(0, 1)]).value, menu: menu()) != nil)
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
        ]
    )
    func onlyWhatIsWrittenTheSameWayIsCompact(value: String, isCompact: Bool) throws {
        #expect(try (compact(value) != nil) == isCompact)
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
