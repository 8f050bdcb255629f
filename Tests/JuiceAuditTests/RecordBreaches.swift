@testable import JuiceAudit

// Breaches of the contract in dead letters, forwarded records and the stock.

extension AuditTests {
    static let records = [
        Breach("dead letter missing", "missing: orders 0@5: it has no dead letter (notJSON)") {
            $0.deadLetters[0] = []
        },
        Breach("dead letter doubled", "doubled: dead-letters 1@9: orders 0@5 is put aside once more") {
            $0.deadLetters[1].append($0.deadLetters[0][0].with(offset: 9))
        },
        Breach("dead letter altered", "orders 0@5 is put aside with another key or value") {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(value: "none")
        },
        Breach("dead letter's key lost", "orders 0@5 is put aside with another key or value") {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(key: .some(nil))
        },
        Breach("dead letter's header lost", "orders 0@5 is put aside with other headers") {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(
                headers: Array($0.deadLetters[0][0].headers.dropFirst())
            )
        },
        Breach(
            "dead letter without a source",
            "its headers do not say where it is from",
            "missing: orders 0@5"
        ) {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(
                headers: Array($0.deadLetters[0][0].headers.dropLast())
            )
        },
        Breach("wrong code", "orders 0@5 is put aside as missingID, should be notJSON") {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(
                headers: [Story.own] + Story.reasons("missingID", "orders", 0, 5)
            )
        },
        Breach("a command put aside", "wrong: dead-letters 0@3: orders 0@6 was not to be put aside") {
            $0.deadLetters[0].append(
                $0.orders[0][5].with(offset: 3, headers: Story.reasons("badID", "orders", 0, 6))
            )
        },
        Breach("cut without need", "orders 0@5 is put aside cut, and has 12 bytes") {
            $0.deadLetters[0][0] = $0.deadLetters[0][0].with(
                headers: [AuditHeader("juice.truncated.from", Array("12".utf8))]
                    + Story.reasons("notJSON", "orders", 0, 5)
            )
        },
        Breach(
            "forwarded never",
            "missing: orders 1@0: it belongs to partition 0",
            "it answers no command"
        ) {
            $0.orders[0].remove(at: 3)
        },
        Breach(
            "forwarded twice",
            "doubled: orders 0@9: it is forwarded from orders 1@0 once more",
            "missing: orders 0@9"
        ) {
            $0.orders[0].append($0.orders[0][3].with(offset: 9))
        },
        Breach("forwarded copy altered", "forwarded from orders 1@0 with another value") {
            $0.orders[0][3] = $0.orders[0][3].replacing("{", with: "{ ")
        },
        Breach("forwarded copy's timestamp lost", "forwarded from orders 1@0 with another timestamp") {
            $0.orders[0][3] = $0.orders[0][3].with(timestamp: 1_004)
        },
        Breach("forwarded copy's headers lost", "forwarded from orders 1@0 with other headers") {
            $0.orders[0][3] = $0.orders[0][3].with(headers: [Story.forwarded(from: "1/0")])
        },
        Breach(
            "a command forwarded without need",
            "doubled: orders 0@9: orders 0@6 was not to be forwarded",
            "missing: orders 0@9"
        ) {
            $0.orders[0].append(
                $0.orders[0][5].with(offset: 9, headers: [Story.forwarded(from: "0/6")])
            )
        },
        Breach("forwarded and answered", "wrong: results 1@9: order \"o5\"") {
            $0.results[1].append($0.results[0][3].with(offset: 9))
        },
        Breach("misplaced but not put aside", "missing: orders 1@1: it has no dead letter (misplaced)") {
            $0.deadLetters[1] = []
        },
    ]

    static let stock = [
        Breach("wrong stock", "revision 4: its stock of \"mango\" is 10, should be 30") {
            $0.stock[0][1] = $0.stock[0][1].replacing("30", with: "10")
        },
        Breach("wrong stock in between", "wrong: stock 0@0") {
            $0.stock[0][0] = $0.stock[0][0].replacing(":9", with: ":8")
        },
        Breach("last stock missing", "missing: stock 0: the stock of store") { $0.stock[0].removeLast() },
        Breach("no stock", "missing: stock 0: the stock of store") { $0.stock[0] = [] },
        Breach("revision too high", "there were 4 changes") {
            $0.stock[0].append(
                $0.stock[0][1].with(offset: 7).replacing(#"revision":4"#, with: #"revision":5"#)
            )
        },
        Breach("revision again", "it comes after revision 4") {
            $0.stock[0].append($0.stock[0][1].with(offset: 7))
        },
        Breach(
            "stock of an aborted change",
            "wrong: stock 0@1: store \"\(Story.first)\", revision 2: its stock of \"kiwi\" is 1, should be 4"
        ) {
            $0.stock[0].insert(
                Story.record(1, Story.first, Story.stock(Story.first, 2, [0, 9, 10, 1, 10])),
                at: 1
            )
        },
        Breach("stock of another store", "its key is another store") {
            $0.stock[0][0] = $0.stock[0][0].with(key: Array(Story.second.utf8))
        },
        Breach("stock of an unknown store", "the store was never changed") {
            $0.stock[0].append(Story.record(8, "x", Story.stock("x", 1, [10, 10, 10, 10, 10])))
        },
        Breach("stock in another partition", "the store belongs to partition 0") {
            $0.stock[1].append($0.stock[0][1].with(offset: 8))
        },
        Breach("a tombstone", "it has no key or no value") {
            $0.stock[0].append(
                AuditRecord(offset: 9, timestamp: 0, key: Array(Story.first.utf8), value: nil)
            )
        },
    ]
}
