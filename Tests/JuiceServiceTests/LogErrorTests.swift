import JuiceEngine
import Kafka
import Testing

@testable import JuiceService

/// What the engine learns of a client's errors.
@Suite struct LogErrorTests {
    @Test(arguments: [
        (KafkaError.Code.messageTooLarge, LogError.Subject.record),
        (.transport, .connection),
        (.timedOut, .call),
        (.fenced, .call),
    ])
    func itTellsWhatFailed(code: KafkaError.Code, subject: LogError.Subject) {
        #expect(LogError(KafkaError(code: code, requiresAbort: true)).subject == subject)
    }
}
