import Testing

@testable import JuiceAudit

/// A change of the story's topics, and the faults that must be found then: each fault contains its text. None if the contract is
/// still kept.
struct Change: CustomTestStringConvertible, Sendable {
    let name: String
    let expected: [String]
    let change: @Sendable (inout AuditTopics) -> Void

    init(_ name: String, _ expected: String..., change: @escaping @Sendable (inout AuditTopics) -> Void) {
        (self.name, self.expected, self.change) = (name, expected, change)
    }

    var testDescription: String { name }
}

/// Whether these faults were found, each once, and no others.
func expect(_ faults: [String], _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(faults.count == expected.count, "\(faults)", sourceLocation: sourceLocation)
    for text in expected {
        #expect(faults.contains { $0.contains(text) }, "\(text) is not in \(faults)", sourceLocation: sourceLocation)
    }
}

/// Two partitions: answers, repeats, dead letters, forwarded records and stock.
@Suite struct StoryTests {
    @Test func theContractIsKept() {
        let audit = Audit(of: Story.topics, by: Story.rules)
        #expect(audit.faults.map(\.description) == [])
        var counts = AuditCounts()
        (counts.records, counts.commands, counts.answers, counts.duplicates) = (13, 11, 11, 1)
        (counts.forwarded, counts.deadLetters, counts.stores) = (1, 2, 2)
        (counts.juicesMade, counts.outOfStock, counts.restocked, counts.rejected) = (3, 2, 3, 2)
        #expect(audit.counts == counts)
        #expect(audit.starts.isEmpty && audit.anchors.isEmpty)
        #expect(audit.owners.map(\.instance) == ["till-1", "till-1"])
    }

    @Test func nothingIsFine() {
        let none = [[AuditRecord]](repeating: [], count: 2)
        let topics = AuditTopics(orders: none, restocks: none, results: none, stock: none, deadLetters: none)
        #expect(Audit(of: topics, by: Story.rules).faults.isEmpty)
    }

    @Test(arguments: answers + repeats + letters + forwards + stock)
    func changesAreJudged(change: Change) {
        var topics = Story.topics
        change.change(&topics)
        expect(Audit(of: topics, by: Story.rules).faults.map(\.description), change.expected)
    }

    static let answers = [
        Change("missing answer", "missing: orders 0@6: order \"o3\" of store \"\(Story.first)\" is not in the journal") {
            $0[.results, 0, 9] = nil
        },
        Change("missing last answer", #"missing: restocks 0@2: restock "r3""#) { $0[.results, 0, 11] = nil },
        Change(
            "no answers at all",
            "missing: orders 1@2",
            "missing: orders 1@3",
            "missing: restocks 1@0",
            "stock 1@0",
            "stock 1@1"
        ) {
            for offset in 3...5 { $0[.results, 1, Int64(offset)] = nil }
        },
        Change("doubled answer", "doubled: results 0@12: restocks 0@2 is handled once more") {
            $0[.results, 0, 12] = $0[.results, 0, 11]
        },
        Change(
            "swapped answers", "missing: orders 1@2", "results 1@3: order \"o8\"",
            "doubled: results 1@4: orders 1@2 is handled once more"
        ) { ($0[.results, 1, 3], $0[.results, 1, 4]) = ($0[.results, 1, 4], $0[.results, 1, 3]) },
        Change("an answer nobody asked for", "wrong: results 0@12: orders 0@7 is not there") {
            $0[.results, 0, 12] = Story.record(12, Story.first, Story.rejected("orderId", "o9", 7, "unknownJuice"))
        },
        Change(
            "an answer in another partition", "missing: orders 0@6", "results 1@9: orders 1@6 is not there", "missing: orders 1@3"
        ) { ($0[.results, 1, 9], $0[.results, 0, 9], $0[.results, 1, 4]) = ($0[.results, 0, 9], nil, nil) },
        Change("another id", "wrong: results 0@9: it answers orders 0@6, which is order \"o3\"") {
            $0.replace(.results, 0, 9, #""o3""#, #""o4""#)
        },
        Change("another store", "wrong: results 0@9: it answers orders 0@6, which is order \"o3\"") {
            $0.replace(.results, 0, 9, Story.first, Story.second)
        },
        Change(
            "an answer to what is no command", "results 0@8: it answers orders 0@5, which is no command (notJSON)", "was not to be"
        ) { $0[.results, 0, 8] = Story.record(8, Story.first, Story.rejected("orderId", "o9", 5, "unknownJuice")) },
        Change("an answer to a misplaced command", "it answers orders 1@0, which is a command of partition 0") {
            $0[.results, 1, 1] = Story.record(1, Story.first, Story.rejected("orderId", "o5", 0, "unknownJuice"))
        },
        Change("no offset", "it does not begin like an answer", "missing: orders 0@6") {
            $0.replace(.results, 0, 9, #","offset":6"#, "")
        },
        Change("members in another order", "it does not begin like an answer", "missing: orders 0@6") {
            $0.replace(.results, 0, 9, #""offset":6,"reason":"unknownJuice""#, #""reason":"unknownJuice","offset":6"#)
        },
        Change("wrong left", #"results 0@5: order "o5" of store "\#(Story.first)" is juiceMade,"juice":"kiwi","#, "results 0@6") {
            $0.replace(.results, 0, 5, #"{"kiwi":4}"#, #"{"kiwi":5}"#)
        },
        Change(
            "wrong used",
            #"should be juiceMade,"juice":"kiwi","quantity":2,"used":{"kiwi":6},"left":{"kiwi":4},"revision":2"#
        ) {
            $0.replace(.results, 0, 5, ":6}", ":3}")
        },
        Change("wrong quantity", "wrong: results 0@5") {
            $0.replace(.results, 0, 5, ":2,\"used", ":1,\"used")
        },
        Change("wrong juice", "wrong: results 0@5") { $0.replace(.results, 0, 5, "\"kiwi\",", "\"mango\",") },
        Change("wrong order of fruits", #"should be restocked,"left":{"strawberry":16,"kiwi":2},"revision":3"#) {
            $0.replace(.results, 0, 6, #""strawberry":16,"kiwi":2"#, #""kiwi":2,"strawberry":16"#)
        },
        Change("a fruit too many", "wrong: results 0@6") {
            $0.replace(.results, 0, 6, #""kiwi":2"#, #""kiwi":2,"mango":10"#)
        },
        Change("a fruit too few", "wrong: results 0@6", "stock 0@2") {
            $0.replace(.results, 0, 6, #","kiwi":2"#, "")
        },
        Change("wrong type", "is juiceMade") { $0.replace(.results, 1, 4, "outOfStock", "juiceMade") },
        Change("wrong needed", #"should be outOfStock,"juice":"mangoKiwi","quantity":2,"fruit":"mango","missing":[{"#) {
            $0.replace(.results, 1, 4, #""needed":4"#, #""needed":2"#)
        },
        Change("wrong reason", #"is rejected,"reason":"badQuantity", should be rejected,"reason":"unknownJuice""#) {
            $0.replace(.results, 0, 9, "unknownJuice", "badQuantity")
        },
        Change("empty message", "does not end with a message") {
            $0.replace(.results, 0, 9, #":"rejected"}"#, #":""}"#)
        },
        Change("a member too many", "wrong: results 0@9") {
            $0.replace(.results, 0, 9, #""message""#, #""x":1,"message""#)
        },
        Change("a member after the message", "does not end with a message") {
            $0.replace(.results, 0, 9, #"d"}"#, #"d","x":1}"#)
        },
        Change("with spaces", #""reason": "unknownJuice", should be rejected,"reason":"unknownJuice""#) {
            $0.replace(.results, 0, 9, #""reason":"#, #""reason": "#)
        },
        Change(
            "another key", "wrong: results 0@2: order \"o1\" of store \"\(Story.first)\" has an answer whose key is not its store"
        ) { $0[.results, 0, 2] = $0[.results, 0, 2]?.with(key: Array(Story.second.utf8)) },
        Change("no key", "has an answer whose key is not its store") {
            $0[.results, 0, 2] = $0[.results, 0, 2]?.with(key: .some(nil))
        },
        Change("lost trace", "has an answer whose trace headers are not the command's") {
            $0[.results, 0, 2] = $0[.results, 0, 2]?.with(headers: [])
        },
        Change("invented trace", "has an answer whose trace headers are not the command's") {
            $0[.results, 0, 3] = $0[.results, 0, 3]?.with(headers: [Story.trace])
        },
        Change("not JSON", "wrong: results 0@9: it is not a JSON object", "missing: orders 0@6") {
            $0[.results, 0, 9] = $0[.results, 0, 9]?.with(value: "{")
        },
        Change("stock below zero", #"is restocked,"left":{"banana":-91},"revision":5, should be rejected"#, "stock 0@5") {
            $0[.results, 0, 11] = Story.record(11, Story.first, Story.restocked("r3", 2, Story.first, #""banana":-91"#, 5))
            $0[.stock, 0, 5] = Story.record(5, Story.first, Story.stock(Story.first, 5, [16, -91, 10, 2, 30]))
        },
        Change("records without a key are about main") { topics in
            let owner = Story.store("main")
            for (offset, key) in [(20, nil), (21, ""), (22, "main")] as [(Int64, String?)] {
                topics[.orders, owner, offset] = Story.record(offset, key, #"{"orderId":"m\#(offset)","juice":"durian"}"#)
                let answer = Story.rejected("orderId", "m\(offset)", Int(offset), "unknownJuice")
                topics[.results, owner, offset] = Story.record(offset, "main", answer.replacing(Story.first, with: "main"))
            }
        },
    ]

    static let repeats = [
        Change("duplicate charged", #"should be restocked,"left":{"strawberry":16"#) {
            $0.replace(.results, 0, 6, ":16", ":6")
            $0.replace(.stock, 0, 2, ":16", ":6")
        },
        Change("duplicate with another answer", "is answered otherwise than at 2") {
            $0.replace(.results, 0, 4, ":9}", ":8}")
        },
        Change("duplicate with another message", "is answered otherwise than at 2") {
            $0.replace(.results, 0, 4, "juice made", "made")
        },
        Change("duplicate without its message", "is answered otherwise than at 2") {
            $0.replace(.results, 0, 4, #","message":"juice made""#, "")
        },
        Change("duplicate at the end", "doubled: results 0@4", "does not end with a message") {
            $0.replace(.results, 0, 4, #""duplicate":true,"#, "")
            $0.replace(.results, 0, 4, #"made"}"#, #"made","duplicate":true}"#)
        },
        Change("duplicate is false", "it does not begin like an answer", "missing: orders 0@3") {
            $0.replace(.results, 0, 4, "true", "false")
        },
        Change("a first answer called a duplicate", "is answered as a duplicate, and is none") {
            $0.replace(.results, 0, 9, #","orderId""#, #","duplicate":true,"orderId""#)
        },
        Change("duplicate forgotten within the window", "doubled: results 0@4: order \"o1\"", "results 0@5", "stock 0@2") {
            $0[.results, 0, 4] = Story.record(4, Story.first, Story.made("o1", 3, "mango", 1, "3", "7", 2))
            $0.replace(.stock, 0, 2, #""revision":4"#, #""revision":5"#)
        },
        Change("restock carried out again to the same effect", "doubled: results 0@12: restock \"r2\"") {
            $0[.restocks, 0, 9] = $0[.restocks, 0, 1]
            $0[.results, 0, 12] = Story.record(12, Story.first, Story.restocked("r2", 9, Story.first, #""mango":30"#, 5))
        },
        Change("first answer given again unmarked", "doubled: results 0@4") {
            $0.replace(.results, 0, 4, #""duplicate":true,"#, "")
        },
        Change("a repeat's offset", "missing: orders 0@3", "results 0@4: orders 0@2 is not there") {
            $0.replace(.results, 0, 4, #""offset":3"#, #""offset":2"#)
        },
    ]

    static let letters = [
        Change("dead letter missing", "missing: orders 0@5: it has no such dead letter") { $0[.deadLetters, 0, 0] = nil },
        Change("dead letter doubled") { $0[.deadLetters, 1, 9] = $0[.deadLetters, 0, 0] },
        Change("dead letter in another partition") {
            ($0[.deadLetters, 1, 9], $0[.deadLetters, 0, 0]) = ($0[.deadLetters, 0, 0], nil)
        },
        Change("dead letter altered", "missing: orders 0@5", "wrong: dead-letters 0@0: orders 0@5 is put aside otherwise") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0]?.with(value: "none")
        },
        Change("a second letter altered", "wrong: dead-letters 0@1: orders 0@5 is put aside otherwise") {
            $0[.deadLetters, 0, 1] = $0[.deadLetters, 0, 0]?.with(value: "none")
        },
        Change("dead letter's key lost", "missing: orders 0@5", "wrong: dead-letters 0@0") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0]?.with(key: .some(nil))
        },
        Change("dead letter's header lost", "missing: orders 0@5", "wrong: dead-letters 0@0") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0].map { $0.with(headers: Array($0.headers.dropFirst())) }
        },
        Change("dead letter without a source", "its headers do not say where it is from, and why", "missing: orders 0@5") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0].map { $0.with(headers: Array($0.headers.dropLast())) }
        },
        Change("wrong code in the letter", "missing: orders 0@5", "wrong: dead-letters 0@0") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0]?.with(headers: [Story.own] + Story.reasons("missingID", "orders", 0, 5))
        },
        Change("wrong code in the journal", #"it puts orders 0@5 aside as "missingID": no command (notJSON)"#) {
            $0.replace(.results, 0, 8, "notJSON", "missingID")
        },
        Change("a command put aside", #"it puts orders 0@6 aside as "badID": order "o3""#) {
            $0[.deadLetters, 0, 3] = $0[.orders, 0, 6]?.with(headers: Story.reasons("badID", "orders", 0, 6))
            $0[.results, 0, 9] = Story.note(9, #"{"type":"deadLetter","topic":"orders","offset":6,"code":"badID"}"#)
        },
        Change("a command whose answer was refused") {
            $0[.deadLetters, 0, 3] = $0[.orders, 0, 6]?.with(headers: Story.reasons("unanswerable", "orders", 0, 6))
            $0[.results, 0, 9] = Story.note(9, #"{"type":"deadLetter","topic":"orders","offset":6,"code":"unanswerable"}"#)
        },
        Change("an answered command with a letter", "wrong: dead-letters 0@3: orders 0@6 was not to be put aside") {
            $0[.deadLetters, 0, 3] = $0[.orders, 0, 6]?.with(headers: Story.reasons("unanswerable", "orders", 0, 6))
        },
        Change("cut without need", "missing: orders 0@5", "wrong: dead-letters 0@0") {
            $0[.deadLetters, 0, 0] = $0[.deadLetters, 0, 0]?
                .with(
                    headers: [AuditHeader("juice.truncated.from", Array("12".utf8))]
                        + Story.reasons("notJSON", "orders", 0, 5)
                )
        },
        Change("a huge letter that is cut") { Story.addHuge(to: &$0, kept: 128 * 1024) },
        Change("a huge letter that keeps nothing") { Story.addHuge(to: &$0, kept: 0) },
        Change("a huge letter that is cut too short", "missing: orders 0@31", "wrong: dead-letters 0@31") {
            Story.addHuge(to: &$0, kept: 64 * 1024)
        },
        Change("a dead letter that is sent in again") { topics in
            let letter = topics[.deadLetters, 0, 0]
            topics[.orders, 0, 30] = letter
            topics[.results, 0, 30] = Story.note(
                30,
                #"{"type":"deadLetter","topic":"orders","offset":30,"code":"notJSON"}"#
            )
            topics[.deadLetters, 0, 30] = letter.map {
                $0.with(headers: $0.headers + Story.reasons("notJSON", "orders", 0, 30))
            }
            let note = [
                AuditHeader("juice.resent.letter", Array("0/0".utf8)), AuditHeader("juice.resent.to", nil),
            ]
            topics[.deadLetters, 0, 31] = Story.record(31, nil, nil, note)
        },
    ]

    static let stock = [
        Change("wrong stock", #"stock 0@2: store "\#(Story.first)", revision 4: its stock should be {"strawberry":16,"#) {
            $0.replace(.stock, 0, 2, "30", "10")
        },
        Change("wrong stock in between", "wrong: stock 0@0") { $0.replace(.stock, 0, 0, ":9", ":8") },
        Change("last stock missing") { $0[.stock, 0, 2] = nil },
        Change("no stock") { $0.stock = [[], []] },
        Change("compacted stock") { $0[.stock, 0, 0] = nil },
        Change("revision too high", "there were 4 changes") {
            $0[.stock, 0, 7] = $0[.stock, 0, 2]
            $0.replace(.stock, 0, 7, #"revision":4"#, #"revision":5"#)
        },
        Change("revision again") { $0[.stock, 0, 7] = $0[.stock, 0, 2] },
        Change("revision back", "it comes after revision 4") { $0[.stock, 0, 7] = $0[.stock, 0, 0] },
        Change("stock of an aborted change", "wrong: stock 0@1: store \"\(Story.first)\", revision 2: its stock should be") {
            $0[.stock, 0, 1] = Story.record(1, Story.first, Story.stock(Story.first, 2, [0, 9, 10, 1, 10]))
        },
        Change("stock of another store", "its key is another store") {
            $0[.stock, 0, 0] = $0[.stock, 0, 0]?.with(key: Array(Story.second.utf8))
        },
        Change("stock of an unknown store", "the store was never changed") {
            $0[.stock, Story.store("x"), 8] = Story.record(8, "x", Story.stock("x", 1, [10, 10, 10, 10, 10]))
        },
        Change("stock in another partition", "the store belongs to partition 0") {
            $0[.stock, 1, 8] = $0[.stock, 0, 2]
        },
        Change("a tombstone", "it has no key or no value") {
            $0[.stock, 0, 9] = AuditRecord(offset: 9, timestamp: 0, key: Array(Story.first.utf8), value: nil)
        },
    ]
}

extension Story {
    /// The partition of a store.
    static func store(_ name: String) -> Int {
        var names = Names(partitionCount: 2)
        return names.store(key: Array(name.utf8)).map { names.owners[$0] } ?? 0
    }

    /// Adds a record that came compressed, and is too large for the dead letters, and its letter.
    static func addHuge(to topics: inout AuditTopics, kept: Int) {
        let value = String(repeating: "x", count: 300_000)
        let size = 300_001 + "traceparent".utf8.count + 9
        topics[.orders, 0, 31] = record(31, "k", value, [trace])
        topics[.results, 0, 31] = note(31, #"{"type":"deadLetter","topic":"orders","offset":31,"code":"tooLarge"}"#)
        topics[.deadLetters, 0, 31] = record(
            31, String("k".prefix(kept)), String(value.prefix(kept)),
            [AuditHeader("juice.truncated.from", Array("\(size)".utf8))] + reasons("tooLarge", "orders", 0, 31))
    }
}
