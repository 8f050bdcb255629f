@testable import JuiceAudit

// Forwarded records in the story: orders 1@0 has its copy in orders 0@4.

extension StoryTests {
    static let forwards = [
        Change(
            "never forwarded", "missing: orders 1@0: it was forwarded to partition 0", "0@5: orders 0@4 is not there",
            "its forwarded"
        ) { $0[.orders, 0, 4] = nil },
        Change("without a note", "missing: orders 1@0: a command of partition 0 is not in the journal") {
            $0[.results, 1, 1] = nil
        },
        Change("to the wrong partition by the note", "results 1@1: orders 1@0 belongs to partition 0") {
            $0.replace(.results, 1, 1, #""to":0"#, #""to":1"#)
        },
        Change("a command that belongs here", "results 0@9: it forwards orders 0@6: order \"o3\"") {
            $0[.results, 0, 9] = Story.note(9, #"{"type":"forwarded","topic":"orders","offset":6,"to":1}"#)
        },
        Change("a forward of a forward", "results 1@2: it forwards orders 1@1: no command (misplaced)", "was not to be put aside") {
            $0[.results, 1, 2] = Story.note(2, #"{"type":"forwarded","topic":"orders","offset":1,"to":0}"#)
        },
        Change("misplaced but not put aside", "missing: orders 1@1: it has no such dead letter") { $0[.deadLetters, 1, 0] = nil },
        Change("copied twice") { copyTwice(&$0, #"{"type":"copy","topic":"orders","offset":9}"#) },
        Change(
            "copied and answered twice", "doubled: orders 0@9: it was forwarded from orders 1@0, and handled before as orders 0@4"
        ) {
            let answer = Story.made("o5", 9, "kiwi", 2, "6", "4", 2, from: "1/0")
            copyTwice(&$0, answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#))
        },
        Change("taken for a copy", "missing: orders 0@4: order \"o5\"", "its forwarded is", "results 0@6") {
            $0[.results, 0, 5] = Story.note(5, #"{"type":"copy","topic":"orders","offset":4}"#)
        },
        Change("a command that is no copy", #"it takes orders 0@6 for a copy: order "o3""#) {
            $0[.results, 0, 9] = Story.note(9, #"{"type":"copy","topic":"orders","offset":6}"#)
        },
        Change("copy altered", "missing: orders 1@0: it was forwarded to partition 0, which has no such copy") {
            $0.replace(.orders, 0, 4, "{", "{ ")
        },
        Change("copy's timestamp lost", "missing: orders 1@0") {
            $0[.orders, 0, 4] = $0[.orders, 0, 4]?.with(timestamp: 1_004)
        },
        Change("copy's headers lost", "missing: orders 1@0") {
            $0[.orders, 0, 4] = $0[.orders, 0, 4]?.with(headers: [Story.forwarded(from: "1/0")])
        },
        Change("an invalid time counts as the moment of reading") {
            $0[.orders, 1, 0] = $0[.orders, 1, 0]?.with(timestamp: 2_000)
            $0[.orders, 0, 4] = $0[.orders, 0, 4]?.with(timestamp: 1_003)
        },
        Change("answered without from", "is answered as from nowhere, should be 1/0") {
            $0.replace(.results, 0, 5, #""from":"1/0","#, "")
        },
        Change("answered with another from", "is answered as from 1/1, should be 1/0") { $0.replace(.results, 0, 5, "1/0", "1/1") },
        Change("answered with a from", "is answered as from 1/1, should be nowhere") {
            $0.replace(.results, 0, 9, #""offset":6,"#, #""offset":6,"from":"1/1","#)
        },
        Change("copied to another log, and then not") {
            $0[.orders, 0, 4] = nil
            $0[.results, 0, 5] = nil
            $0.replace(.results, 0, 6, #""kiwi":2},"revision":3"#, #""kiwi":8},"revision":2"#)
            $0.replace(.results, 0, 7, #""revision":4"#, #""revision":3"#)
            $0.replace(.results, 0, 10, #","forwarded":{"orders/1":0}"#, "")
            $0.stock[0] = []
            $0[.results, 1, 9] = Story.note(9, #"{"type":"anchored","topic":"orders","offset":0,"by":"x"}"#)
            $0[.results, 1, 10] = Story.note(10, #"{"type":"anchored","topic":"orders","offset":4,"by":"x"}"#)
        },
        // A client writes the header itself.
        Change("a forged header") { forge(&$0, "1/7", "1/7") },
        Change("a forged header of a true place") { forge(&$0, "1/0", "1/0") },
        Change("a forged header of a true place, taken for a copy") {
            forge(&$0, "1/0", "1/0")
            $0[.results, 0, 9] = Story.note(9, #"{"type":"copy","topic":"orders","offset":6}"#)
        },
        Change("a forged header, taken for a copy", "missing: orders 0@6: order \"o3\"") {
            forge(&$0, "1/7", nil)
            $0[.results, 0, 9] = Story.note(9, #"{"type":"copy","topic":"orders","offset":6}"#)
        },
        Change("nonsense in the header") { forge(&$0, "nonsense", nil) },
        Change("more nonsense") { forge(&$0, "01/2", nil) },
        Change("no value in the header") { forge(&$0, "", nil) },
        Change("nonsense in the answer", "is answered as from 01/2, should be nowhere") { forge(&$0, "01/2", "01/2") },
    ]

    /// The second copy of a forwarded record.
    private static func copyTwice(_ topics: inout AuditTopics, _ journal: String) {
        topics[.orders, 0, 9] = topics[.orders, 0, 4]
        topics[.results, 0, 12] = Story.record(12, journal.contains("copy") ? nil : Story.first, journal)
    }

    private static func forge(_ topics: inout AuditTopics, _ header: String, _ from: String?) {
        topics[.orders, 0, 6] = topics[.orders, 0, 6]?.with(headers: [Story.forwarded(from: header)])
        if let from { topics.replace(.results, 0, 9, #""offset":6,"#, #""offset":6,"from":"\#(from)","#) }
        if let from, let offset = Int(from.dropFirst(2)), from.hasPrefix("1/") {
            topics.replace(.results, 0, 10, #"{"orders/1":0}"#, #"{"orders/1":\#(offset)}"#)
        }
    }
}
