import Foundation
import JuiceDomain
import JuiceMessages
import MessageSamples
import Testing

/// Compares the service's decoder, juice maker and encoder with a second implementation of the contract, on random commands.
/// `juice audit` replays commands with the service's own code, so that code is checked here.
@Suite struct OracleTests {
    /// Commands that are valid, rejected and undecodable, as far as Foundation reads them as the service does.
    private static let golden =
        (GoldenCommands.orders.map(\.value) + GoldenCommands.faultyOrders.map { GoldenCommands.order($0.members) }).map {
            (CommandKind.order, $0)
        }
        + (GoldenCommands.restocks.map(\.value) + GoldenCommands.faultyRestocks.map { GoldenCommands.restock($0.members) }).map {
            (CommandKind.restock, $0)
        } + GoldenCommands.deadLetters.map { (CommandKind.order, $0.value) }

    @Test(arguments: 0..<20 as Range<UInt64>) func theServiceAnswersAsTheContractSays(seed: UInt64) throws {
        var (random, commands) = (SeededGenerator(seed: seed), RandomCommands(seed: seed))
        let isStandard = seed % 2 == 0
        let menu = isStandard ? Menu.standard : try RandomSamples.menu(fruits: random.number(1...12), &random)
        let store = #"강남 "1""#
        let shop = Shop(menu: menu, store: store)
        var oracle = Oracle(menu: menu, store: store)
        for offset in 0..<400 as Range<Int64> {
            var (kind, value) = commands.next(of: menu)
            if isStandard, random.chance(30), let command = random.pick(Self.golden) { (kind, value) = command }
            let from = random.chance(30) ? RecordPosition(partition: 3, offset: offset) : nil
            let expected = oracle.answer(kind == .restock, value, offset, from: from?.header)
            let answered = shop.answer(kind, value, at: (offset, from))
            try #require(answered == nil ? expected == nil : expected != nil, "\(value)")
            guard let answered, let expected else { continue }
            let type = expected.firstIndex(of: ",") ?? expected.endIndex
            let again = expected[..<type] + #","duplicate":true"# + expected[type...]
            for (actual, expected) in zip(answered.values, [expected, expected, String(again)]) {
                #expect(actual.hasPrefix(expected + #","message":""#), "\(value) is \(actual), should be \(expected)")
            }
        }
    }
}

/// A JSON value, as Foundation reads it.
private enum JSONTree: Decodable {
    case null, number, bool(Bool), integer(Int), text(String), array([JSONTree]), object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int.self) {
            self = .integer(integer)
        } else if (try? value.decode(Double.self)) != nil {
            self = .number
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([JSONTree].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONTree].self))
        }
    }

    /// A member that is present and not null.
    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self, let member = members[name] else { return nil }
        if case .null = member { return nil }
        return member
    }
}

/// A store as the contract describes it: its answer to each command, up to the message.
private struct Oracle {
    private struct Rejected: Error { let reason: String }

    private let menu: Menu
    private let store: String
    private var levels: [Int]
    private var revision = 0
    /// The fruits that each made order used.
    private var made: [String: [(fruit: Int, amount: Int)]] = [:]
    private var cancelled: Set<String> = []

    init(menu: Menu, store: String) {
        (self.menu, self.store, levels) = (menu, store, menu.fruits.map(\.initialStock))
    }

    /// Nil if the value is a dead letter.
    mutating func answer(_ isRestock: Bool, _ value: String, _ offset: Int64, from: String?) -> String? {
        let member = isRestock ? "restockId" : "orderId"
        guard let command = try? JSONDecoder().decode(JSONTree.self, from: Data(value.utf8)), case .object = command,
            case .text(let id)? = command[member], (1...128).contains(id.utf8.count)
        else { return nil }
        let head =
            #","\#(member)":\#(quoted(id)),"store":\#(quoted(store)),"offset":\#(offset)"#
            + (from.map { #","from":"\#($0)""# } ?? "")
        var isCancel = false
        do throws(Rejected) {
            if isRestock { return #"{"type":"restocked"\#(head)\#(try restock(command))"# }
            if let cancel = command["cancel"] {
                guard case .bool(let flag) = cancel else { throw Rejected(reason: "badCommand") }
                isCancel = flag
            }
            let (type, rest) = isCancel ? ("cancelled", try cancel(id)) : try order(command, id)
            return #"{"type":"\#(type)"\#(head)\#(rest)"#
        } catch {
            return #"{"type":"rejected"\#(head)\#(isCancel ? #","cancel":true"# : ""),"reason":"\#(error.reason)""#
        }
    }

    private mutating func order(_ command: JSONTree, _ id: String) throws(Rejected) -> (String, String) {
        var lines: [(juice: Int, quantity: Int)] = []
        if let items = command["items"] {
            guard command["juice"] == nil, command["quantity"] == nil, case .array(let items) = items,
                (1...20).contains(items.count)
            else { throw Rejected(reason: "badCommand") }
            for item in items {
                let line = try self.line(item)
                if let place = lines.firstIndex(where: { $0.juice == line.juice }) {
                    lines[place].quantity += line.quantity
                } else {
                    lines.append(line)
                }
            }
        } else {
            lines = [try line(command)]
        }
        if cancelled.contains(id) { throw Rejected(reason: "cancelled") }
        var needs: [(fruit: Int, amount: Int)] = []
        for line in lines {
            for part in menu.juices[line.juice].recipe {
                if let place = needs.firstIndex(where: { $0.fruit == part.fruit }) {
                    needs[place].amount += part.amount * line.quantity
                } else {
                    needs.append((part.fruit, part.amount * line.quantity))
                }
            }
        }
        let items = lines.map { #""juice":\#(quoted(menu.juices[$0.juice].id)),"quantity":\#($0.quantity)"# }
        let named = command["items"] == nil ? ",\(items[0])" : #","items":[\#(items.map { "{\($0)}" }.joined(separator: ","))]"#
        let short = needs.filter { levels[$0.fruit] < $0.amount }
        if let first = short.first {
            let missing = short.map {
                #"{"fruit":\#(quoted(menu.fruits[$0.fruit].id)),"needed":\#($0.amount),"inStock":\#(levels[$0.fruit])}"#
            }
            let fruit = quoted(menu.fruits[first.fruit].id)
            return ("outOfStock", named + #","fruit":\#(fruit),"missing":[\#(missing.joined(separator: ","))]"#)
        }
        for need in needs { levels[need.fruit] -= need.amount }
        made[id] = needs
        return ("juiceMade", named + #","used":\#(object(needs))"# + changed(needs.map(\.fruit)))
    }

    private func line(_ item: JSONTree) throws(Rejected) -> (juice: Int, quantity: Int) {
        guard case .text(let id)? = item["juice"] else { throw Rejected(reason: "badCommand") }
        guard let juice = menu.juices.firstIndex(where: { $0.id.utf8.elementsEqual(id.utf8) }) else {
            throw Rejected(reason: "unknownJuice")
        }
        guard let quantity = item["quantity"] else { return (juice, 1) }
        guard case .integer(let number) = quantity, (1...100).contains(number) else { throw Rejected(reason: "badQuantity") }
        return (juice, number)
    }

    private mutating func cancel(_ id: String) throws(Rejected) -> String {
        let returned = made[id] ?? []
        if !returned.isEmpty {
            try add(returned.sorted { $0.fruit < $1.fruit }, to: levels)
            made[id] = nil
        }
        cancelled.insert(id)
        return #","returned":\#(object(returned))"# + (returned.isEmpty ? #","left":{}"# : changed(returned.map(\.fruit)))
    }

    private mutating func restock(_ command: JSONTree) throws(Rejected) -> String {
        if command["add"] != nil, command["set"] != nil { throw Rejected(reason: "badCommand") }
        guard let given = command["add"] ?? command["set"] else { throw Rejected(reason: "emptyRestock") }
        guard case .object(let members) = given else { throw Rejected(reason: "badCommand") }
        if members.isEmpty { throw Rejected(reason: "emptyRestock") }
        var amounts: [(fruit: Int, amount: Int)] = []
        for (name, amount) in members {
            guard let fruit = menu.fruits.firstIndex(where: { $0.id == name }) else { throw Rejected(reason: "unknownFruit") }
            guard case .integer(let number) = amount else { throw Rejected(reason: "badAmount") }
            amounts.append((fruit, number))
        }
        amounts.sort { $0.fruit < $1.fruit }
        try add(amounts, to: command["add"] == nil ? levels.map { _ in 0 } : levels)
        return changed(amounts.map(\.fruit))
    }

    /// Adds all amounts or none.
    private mutating func add(_ amounts: [(fruit: Int, amount: Int)], to before: [Int]) throws(Rejected) {
        var after = levels
        for (fruit, amount) in amounts {
            let (level, overflows) = before[fruit].addingReportingOverflow(amount)
            if overflows || level > 1_000_000_000 { throw Rejected(reason: "wouldOverflow") }
            if level < 0 { throw Rejected(reason: "wouldGoNegative") }
            after[fruit] = level
        }
        levels = after
    }

    private mutating func changed(_ fruits: [Int]) -> String {
        revision += 1
        return #","left":\#(object(fruits.map { ($0, levels[$0]) })),"revision":\#(revision)"#
    }

    private func object(_ amounts: [(fruit: Int, amount: Int)]) -> String {
        "{\(amounts.map { "\(quoted(menu.fruits[$0.fruit].id)):\($0.amount)" }.joined(separator: ","))}"
    }

    private func quoted(_ text: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"]
        return text.unicodeScalars.reduce("\"") { text, scalar in
            text + (escapes[scalar] ?? (scalar.value < 0x20 ? String(format: "\\u%04x", scalar.value) : String(scalar)))
        } + "\""
    }
}
