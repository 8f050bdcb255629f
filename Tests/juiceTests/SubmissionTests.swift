import JuiceClient
import JuiceMessages
import Testing

@testable import juice

struct SubmissionTests {
    @Test func withoutAnAnswerTheCommandMayStillBeCarriedOut() {
        let order = OutgoingCommand.order(id: "o", store: "s", juice: "kiwi")
        let failure = Submission.noAnswer(to: order, within: .seconds(10))
        #expect(failure.status == .unavailable)
        #expect(failure.message == "no answer to order o within 10 s")
        #expect(failure.hint?.contains("`juice results`") == true)
    }
}
