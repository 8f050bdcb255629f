import JuiceMaker
import MessageSamples
import SeededRandom
import Testing

@testable import JuiceMessages

@Suite struct AnswerTemplateTests {
    private struct Parts {
        let template: AnswerTemplate
        let numbers: [Int]
    }

    private func parts(
        of sample: AnswerSample,
        message: AnswerTemplate.MessageLength = .whole
    ) -> Parts {
        var numbers: [Int] = []
        let template = sample.withHead { head in
            [UInt8](sample.value).withUnsafeBytes {
                AnswerTemplate(of: $0, head, message: message, numbers: &numbers)
            }
        }
        return Parts(template: template, numbers: numbers)
    }

    private func text(_ parts: Parts, of sample: AnswerSample) -> String {
        sample.withHead { head in
            written { parts.template.write(head, numbers: parts.numbers, into: &$0) }
        }
    }

    private func duplicate(_ value: String) -> String {
        guard let comma = value.firstIndex(of: ",") else { return value }
        return value[..<comma] + #","duplicate":true"# + value[comma...]
    }

    private func sample(_ value: String, id: String = "r", store: String = "s") -> AnswerSample {
        AnswerSample(command: .order, id: id, store: store, offset: 5, from: nil, value: value, content: nil)
    }

    @Test(arguments: Language.allCases, [1, 5, 12])
    func anyAnswerIsWrittenAgain(language: Language, fruits: Int) throws {
        var generator = SeededGenerator(seed: 20_261_122)
        let menu = try RandomSamples.menu(fruits: fruits, &generator)
        let samples = AnswerSamples(menu: menu, language: language)
        for _ in 0..<1_000 {
            let sample = try samples.random(&generator)
            #expect(text(parts(of: sample), of: sample) == duplicate(sample.value))
        }
        for kind in CommandKind.allCases {
            let sample = samples.rejection(of: kind)
            #expect(text(parts(of: sample), of: sample) == duplicate(sample.value))
        }
    }

    /// What is left of it once the id, the store and the numbers are out. The message repeats the field.
    @Test func answersOfOneFormShareATemplate() throws {
        let samples = AnswerSamples(language: .korean)
        let few = try samples.restock([(0, 7), (3, 10)], id: "a", store: "b 17")
        let many = try samples.restock([(0, 4_700_000), (3, 99)], id: "bot-1-\"42", store: "강남")
        #expect(parts(of: few).template == parts(of: many).template)
        #expect(parts(of: few).numbers == [7, 10, 17])
        #expect(parts(of: many).numbers == [4_700_000, 99, 17])
        let other = try samples.restock([(0, 7), (4, 10)])
        #expect(parts(of: few).template != parts(of: other).template)
    }

    @Test(
        arguments: [
            // What is no number as it would be written again stays as it is.
            (
                #"{"type":"rejected","orderId":"r","store":"s","offset":5,"reason":"x","message":"007, 0, 12.50, -3"}"#,
                [0, 12, 50, 3]
            ),
            (#"{"type":"rejected","orderId":"r","store":"s","offset":5,"n":99999999999999999999999}"#, []),
            (#"{"type":"rejected","orderId":"r","store":"s","offset":5,"n":9223372036854775807}"#, [Int.max]),
        ]
    )
    func whateverItSays(value: String, numbers: [Int]) {
        let parts = parts(of: sample(value))
        #expect(parts.numbers == numbers)
        #expect(text(parts, of: sample(value)) == duplicate(value))
    }

    @Test func aClippedMessageLeavesTheReason() {
        let long = sample(
            #"{"type":"rejected","orderId":"r","store":"s","offset":5,"reason":"unknownJuice","message":"no juice is called \"x\""}"#
        )
        let clipped = parts(of: long, message: .clipped)
        #expect(
            text(clipped, of: long)
                == #"{"type":"rejected","duplicate":true,"orderId":"r","store":"s","offset":5,"reason":"unknownJuice","#
                + #""message":"…"}"#
        )
        // Without a message there is nothing to clip.
        let short = sample(
            #"{"type":"rejected","orderId":"r","store":"s","offset":5,"reason":"unknownJuice"}"#
        )
        #expect(text(parts(of: short, message: .clipped), of: short) == duplicate(short.value))
    }
}
