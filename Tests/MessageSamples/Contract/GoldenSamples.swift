import JuiceMaker
import JuiceMessages

/// The messages of the tests of encoders and decoders, judged by the service.
public enum GoldenSamples {
    /// All of them.
    public static var all: [Sample] { answers + commands + menus + deadLetterHeaders }

    private static var answers: [Sample] {
        GoldenAnswers.all.map { sample(.answer, $0, true, "an answer") }
            + GoldenNotes.all.map { sample(.journalNote, $0.value, true, "a note") } + [
                sample(.stock, GoldenAnswers.stock, true, "a stock record")
            ]
    }

    private static var commands: [Sample] {
        let decoder = CommandDecoder(menu: .standard)
        func judged(_ kind: CommandKind, _ value: String) -> Sample {
            let judgement = decoder.judge(kind, value)
            let schema = Sample.Schema(kind)
            return sample(schema, value, judgement.isValid, judgement.note)
        }
        let rejected = GoldenCommands.rejectedOrders + GoldenCommands.rejectedBaskets + GoldenCommands.rejectedCancels
        let orders = (GoldenCommands.orders + GoldenCommands.baskets).map(\.value) + GoldenCommands.cancels + rejected.map(\.value)
        let restocks = GoldenCommands.restocks.map(\.value) + GoldenCommands.rejectedRestocks.map(\.value)
        let letters = GoldenCommands.deadLetters.map(\.value)
        return (orders + letters).map { judged(.order, $0) } + (restocks + letters).map { judged(.restock, $0) }
    }

    private static var menus: [Sample] {
        let standard = written { MenuFile.encode(.standard, into: &$0) }
        return (GoldenMenus.malformed.map(\.json) + [standard]).map { file in
            let judgement = Judgement(menu: file)
            return sample(.menu, file, judgement.isValid, judgement.note)
        }
    }

    private static var deadLetterHeaders: [Sample] {
        func headers(_ code: String, _ message: String) -> JSON {
            .object([
                (HeaderName.errorCode, .string(code)), (HeaderName.errorMessage, .string(message)),
                (HeaderName.sourceTopic, .string("juice.orders")),
                (HeaderName.sourcePartition, .string("3")), (HeaderName.sourceOffset, .string("42")),
            ])
        }
        let valid = DeadLetterReason.allCases.map { reason in
            sample(.deadLetterHeaders, headers(reason.code, reason.message).text, true, reason.code)
        }
        let invalid = sample(.deadLetterHeaders, headers("badWeather", "it rains").text, false, "an unknown code")
        return valid + [invalid]
    }

    private static func sample(_ schema: Sample.Schema, _ value: String, _ valid: Bool?, _ note: String) -> Sample {
        Sample(schema: schema, origin: .golden, value: value, valid: valid, note: note)
    }
}
