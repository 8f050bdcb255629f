import JuiceClient
import JuiceMessages
import Testing

@testable import juice

struct SubmissionTests {
    @Test func withoutAnAnswerTheCommandMayStillBeCarriedOut() {
        let order = OutgoingCommand.order(id: "o", store: "s", juice: "kiwi")
        let failure = Submission.noAnswer(to: order, within: .seconds(10), butToItsOrder: nil)
        #expect(failure.status == .unavailable)
        #expect(failure.message == "no answer to order o within 10 s")
        #expect(failure.hint?.contains("`juice results`") == true)
    }

    @Test(arguments: [
        #"{"type":"rejected","orderId":"o","store":"s","offset":1,"reason":"badCommand","message":"the order has no juice"}"#,
        #"""
        {"type":"outOfStock","duplicate":true,"orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":1,"fruit":"kiwi",\#
        "missing":[{"fruit":"kiwi","needed":3,"inStock":1}],"message":"out of stock (kiwi)"}
        """#,
    ])
    func aServiceBeforeCancelsIsNamedAsThePossibleCause(json: String) throws {
        let answer = try Answer(json: json)
        #expect(answer.command == .order)
        let cancel = OutgoingCommand.cancel(id: "o", store: "s")
        let failure = Submission.noAnswer(to: cancel, within: .seconds(10), butToItsOrder: answer)
        #expect(failure.message == "no answer to cancel o within 10 s")
        #expect(failure.hint?.contains(answer.message) == true)
        #expect(failure.hint?.contains("a version before cancels") == true)
    }
}
