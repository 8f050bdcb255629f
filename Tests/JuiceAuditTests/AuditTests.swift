import Testing

@testable import JuiceAudit

/// A way to break the contract in the story's topics, and exactly the faults that must be found.
struct Breach: CustomTestStringConvertible, Sendable {
    let name: String
    let expected: [String]
    let breaking: @Sendable (inout AuditTopics) -> Void

    init(_ name: String, _ expected: String..., breaking: @escaping @Sendable (inout AuditTopics) -> Void) {
        self.name = name
        self.expected = expected
        self.breaking = breaking
    }

    var testDescription: String { name }
}

@Suite struct AuditTests {
    @Test func theContractIsKept() {
        let audit = Audit(of: Story.topics, by: Story.rules)
        #expect(audit.faults.isEmpty)
        var counts = AuditCounts()
        (counts.records, counts.commands, counts.answers, counts.duplicates) = (13, 11, 11, 1)
        (counts.forwarded, counts.deadLetters, counts.stores) = (1, 2, 2)
        (counts.juicesMade, counts.outOfStock, counts.restocked, counts.rejected) = (3, 2, 3, 2)
        counts.withoutRevision = 6
        #expect(audit.counts == counts)
    }

    @Test func nothingIsFine() {
        let none = [[AuditRecord]](repeating: [], count: 2)
        let topics = AuditTopics(orders: none, restocks: none, results: none, stock: none, deadLetters: none)
        #expect(Audit(of: topics, by: Story.rules).faults.isEmpty)
    }

    @Test(arguments: answers + memory + records + stock)
    func aBreachIsFound(breach: Breach) {
        var topics = Story.topics
        breach.breaking(&topics)
        let faults = Audit(of: topics, by: Story.rules).faults.map(\.description)
        #expect(faults.count == breach.expected.count, "\(faults)")
        for expected in breach.expected {
            #expect(faults.contains { $0.contains(expected) }, "\(expected) is not in \(faults)")
        }
    }

    static let answers = [
        Breach("missing answer", #"missing: orders 0@6: order "o3""#) { $0.results[0].remove(at: 6) },
        Breach("missing last answer", #"missing: restocks 0@2: restock "r3""#) { $0.results[0].removeLast() },
        Breach(
            "no answers at all",
            "missing: orders 1@2",
            "missing: orders 1@3",
            "missing: restocks 1@0",
            "wrong: stock 1@0",
            "wrong: stock 1@1"
        ) { $0.results[1] = [] },
        Breach("doubled answer", "doubled: results 0@4") { topics in
            topics.results[0].insert(topics.results[0][3], at: 4)
        },
        Breach("doubled duplicate", "doubled: results 0@3") { topics in
            topics.results[0].insert(topics.results[0][2], at: 3)
        },
        Breach(
            "swapped answers",
            #"wrong: results 1@0: order "o7" of store "\#(Story.second)" is answered out of order"#,
            "its type is \"outOfStock\", should be \"juiceMade\""
        ) { $0.results[1].swapAt(0, 1) },
        Breach("swapped answers of two kinds", "wrong: results 0@5", "wrong: results 0@4") {
            $0.results[0].swapAt(3, 4)
        },
        Breach("an answer nobody asked for", "wrong: results 0@7: it answers no command there is") { topics in
            topics.results[0].insert(
                topics.results[0][6].replacing("o3", with: "o4").with(offset: 7),
                at: 7
            )
        },
        Breach("an answer in another partition", "missing: orders 0@6", "wrong: results 1@7: order \"o3\"") {
            topics in
            topics.results[1].append(topics.results[0].remove(at: 6))
        },
        Breach(
            "wrong left",
            "wrong: results 0@4: order \"o5\" of store \"\(Story.first)\": its left of \"kiwi\" is 5, should be 4"
        ) {
            $0.results[0][3] = $0.results[0][3].replacing(":4}", with: ":5}")
        },
        Breach("wrong used", "its used of \"kiwi\" is 3, should be 6") {
            $0.results[0][3] = $0.results[0][3].replacing(":6}", with: ":3}")
        },
        Breach("wrong quantity", "its quantity is 1, should be 2") {
            $0.results[0][3] = $0.results[0][3].replacing(":2,", with: ":1,")
        },
        Breach("wrong juice", "its juice is \"mango\", should be \"kiwi\"") {
            $0.results[0][3] = $0.results[0][3].replacing("\"kiwi\",", with: "\"mango\",")
        },
        Breach("wrong order of fruits", "its left names \"kiwi\" where it should not") {
            $0.results[0][4] = $0.results[0][4].replacing(
                #""strawberry":16,"kiwi":2"#,
                with: #""kiwi":2,"strawberry":16"#
            )
        },
        Breach("a fruit too many", "its left names \"mango\"") {
            $0.results[0][4] = $0.results[0][4].replacing(#""kiwi":2"#, with: #""kiwi":2,"mango":10"#)
        },
        Breach("a fruit too few", "its left lacks \"kiwi\"") {
            $0.results[0][4] = $0.results[0][4].replacing(#","kiwi":2"#, with: "")
        },
        Breach("wrong type", "its type is \"juiceMade\", should be \"outOfStock\"") {
            $0.results[1][1] = $0.results[1][1].replacing("outOfStock", with: "juiceMade")
        },
        Breach("wrong needed", "its needed is 2, should be 4") {
            $0.results[1][1] = $0.results[1][1].replacing(#""needed":4"#, with: #""needed":2"#)
        },
        Breach("wrong first fruit", "its fruit is \"kiwi\", should be \"mango\"") {
            $0.results[1][1] = $0.results[1][1].replacing(
                #""quantity":2,"fruit":"mango""#,
                with: #""quantity":2,"fruit":"kiwi""#
            )
        },
        Breach("a fruit that is not short", "its missing names a fruit that is not short") {
            $0.results[1][1] = $0.results[1][1].replacing(
                "}]",
                with: #"},{"fruit":"kiwi","needed":2,"inStock":6}]"#
            )
        },
        Breach("wrong reason", "its reason is \"badQuantity\", should be \"unknownJuice\"") {
            $0.results[0][6] = $0.results[0][6].replacing("unknownJuice", with: "badQuantity")
        },
        Breach("empty message", "it has no message") {
            $0.results[0][6] = $0.results[0][6].replacing(#""message":"rejected""#, with: #""message":"""#)
        },
        Breach("a member too many", "it has 6 members") {
            $0.results[0][6] = $0.results[0][6].replacing(#""message""#, with: #""x":1,"message""#)
        },
        Breach("another key", "wrong: results 0@0: its key is not its store") {
            $0.results[0][0] = $0.results[0][0].with(key: Array(Story.second.utf8))
        },
        Breach("no key", "wrong: results 0@0: its key is not its store") {
            $0.results[0][0] = $0.results[0][0].with(key: .some(nil))
        },
        Breach("lost trace", "its trace headers are not the command's") {
            $0.results[0][0] = $0.results[0][0].with(headers: [])
        },
        Breach("invented trace", "its trace headers are not the command's") {
            $0.results[0][1] = $0.results[0][1].with(headers: [Story.trace])
        },
        Breach("not JSON", "wrong: results 0@7: the answer is not a JSON object", "missing: orders 0@6") {
            $0.results[0][6] = $0.results[0][6].with(value: "{")
        },
        Breach(
            "stock below zero",
            "its type is \"restocked\", should be \"rejected\"",
            "wrong: stock 0@5",
            "should be at 5"
        ) {
            topics in
            topics.results[0][7] = topics.results[0][7].with(value: Story.restocked("r3", #""banana":-91"#))
            topics.stock[0].append(
                Story.record(5, Story.first, Story.stock(Story.first, 6, [16, -91, 10, 2, 30]))
            )
        },
    ]

    static let memory = [
        Breach(
            "duplicate charged",
            "its left of \"strawberry\" is 6, should be 16",
            "wrong: stock 0@2"
        ) {
            $0.results[0][4] = $0.results[0][4].replacing(":16", with: ":6")
            $0.stock[0][1] = $0.stock[0][1].replacing(":16", with: ":6")
        },
        Breach("duplicate with another answer", "is answered otherwise than at 0") {
            $0.results[0][2] = $0.results[0][2].replacing(":9", with: ":8")
        },
        Breach("duplicate with another message", "is answered otherwise than at 0") {
            $0.results[0][2] = $0.results[0][2].replacing("juice made", with: "made")
        },
        Breach("duplicate without its message", "is answered otherwise than at 0") {
            $0.results[0][2] = $0.results[0][2].replacing(#","message":"juice made""#, with: "")
        },
        Breach("duplicate at the end", "its duplicate is not true, or not right after its type") {
            $0.results[0][2] = $0.results[0][2].replacing(#""duplicate":true,"#, with: "").replacing(
                #"made"}"#,
                with: #"made","duplicate":true}"#
            )
        },
        Breach("duplicate is false", "its duplicate is not true") {
            $0.results[0][2] = $0.results[0][2].replacing("true", with: "false")
        },
        Breach("a first answer called a duplicate", "is answered as a duplicate, and is none") {
            $0.results[0][6] = $0.results[0][6].replacing(
                #","orderId""#,
                with: #","duplicate":true,"orderId""#
            )
        },
        Breach("duplicate forgotten within the window", "doubled: results 0@3: order \"o1\"") {
            $0.results[0][2] = $0.results[0][2].with(value: Story.made("o1", "mango", 1, "3", "7"))
            $0.stock[0][1] = $0.stock[0][1].replacing(#""revision":4"#, with: #""revision":5"#)
        },
        Breach("restock carried out again to the same effect", "doubled: results 0@9: restock \"r2\"") {
            $0.restocks[0].append($0.restocks[0][1].with(offset: 9))
            $0.results[0].append($0.results[0][5].with(offset: 9))
            $0.stock[0][1] = $0.stock[0][1].replacing(#""revision":4"#, with: #""revision":5"#)
        },
        Breach("first answer given again unmarked", "doubled: results 0@3") {
            $0.results[0][2] = $0.results[0][2].replacing(#""duplicate":true,"#, with: "")
        },
    ]
}
