import Foundation
import JuiceMaker
import JuiceMessages

/// Random messages for the check of the schemas: commands and their answers, each also damaged.
public struct Generation {
    private var commands: RandomCommands
    private var shop = Shop(menu: .standard, store: "gangnam")
    private var samples: [Sample] = []
    // The next damage for each kind of message: they take turns.
    private var turns: [String: Int] = [:]

    /// The same seed makes the same messages.
    public init(seed: UInt64) { commands = RandomCommands(seed: seed) }

    /// Removes and returns the samples since the last call.
    public mutating func removeSamples() -> [Sample] {
        defer { samples = [] }
        return samples
    }

    /// Continues with another store, of another menu.
    public mutating func openShop() throws {
        shop = try commands.shop()
        let file = written { MenuFile.encode(shop.menu, into: &$0) }
        add(.menu, .generated, file, Judgement(menu: file))
        let menu = try parse(file)
        for _ in 0..<10 {
            guard let (damaged, damage) = damaged(menu, "menu", Damage.ofMenus) else { continue }
            addDamaged(.menu, damaged, damage, Judgement(menu: damaged))
        }
    }

    /// Makes one command, answers it, and damages both.
    public mutating func submitNext() throws {
        let (kind, value) = commands.next(of: shop.menu)
        let schema = Sample.Schema(kind)
        add(schema, .generated, value, shop.decoder.judge(kind, value))
        try answer(kind, value)

        let damages = kind == .restock ? Damage.ofRestocks : Damage.ofOrders
        guard let (damaged, damage) = damaged(try parse(value), schema.rawValue, damages) else { return }
        addDamaged(schema, damaged, damage, shop.decoder.judge(kind, damaged))
        try answer(kind, damaged)
    }

    /// Writes one note of the journal, and damages it.
    public mutating func noteNext() throws {
        let value = written { commands.note().write(into: &$0) }
        add(.journalNote, .generated, value, .accepted)
        try addBroken(.journalNote, value)
    }

    /// A kind of message of which too few were made to apply each of its damages; nil if there is none.
    public func kindNotFullyDamaged() -> String? {
        let damages = Damage.byType.merging(
            [
                "order": Damage.ofOrders, "restock": Damage.ofRestocks, "menu": Damage.ofMenus,
                "stock": Damage.ofStock,
            ]
        ) { first, _ in first }
        return damages.keys.sorted().first { turns[$0, default: 0] < damages[$0]?.count ?? 0 }
    }

    private mutating func answer(_ kind: CommandKind, _ value: String) throws {
        let answers = shop.answers(to: kind, value)
        for answer in answers { add(.answer, .generated, answer, .accepted) }
        guard let first = answers.first else { return }
        try addBroken(.answer, first)

        guard let record = shop.stockRecord() else { return }
        add(.stock, .generated, record, .accepted)
        if let (damaged, damage) = damaged(try parse(record), "stock", Damage.ofStock) {
            add(.stock, .broken, damaged, Judgement(isValid: false, note: "\(damage)"))
        }
    }

    /// Damages an answer or a note as its type asks for.
    private mutating func addBroken(_ schema: Sample.Schema, _ value: String) throws {
        let message = try parse(value)
        guard case .literal(let quoted) = message["type"] else { return }
        let type = quoted.trimmingCharacters(in: ["\""])
        if let (damaged, damage) = damaged(message, type, Damage.byType[type] ?? []) {
            add(schema, .broken, damaged, Judgement(isValid: false, note: "\(damage)"))
        }
    }

    private mutating func damaged(_ message: JSON, _ kind: String, _ damages: [Damage]) -> (String, Damage)? {
        guard !damages.isEmpty else { return nil }
        let turn = turns[kind, default: 0]
        turns[kind] = turn + 1
        let damage = damages[turn % damages.count]
        return damage.applied(to: message).map { ($0.text, damage) }
    }

    private mutating func addDamaged(_ schema: Sample.Schema, _ value: String, _ damage: Damage, _ judgement: Judgement) {
        let note = Judgement(isValid: judgement.isValid, note: "\(damage) (\(judgement.note))")
        add(schema, judgement.isValid == true ? .generated : .broken, value, note)
    }

    private mutating func add(_ schema: Sample.Schema, _ origin: Sample.Origin, _ value: String, _ judgement: Judgement) {
        samples.append(Sample(schema: schema, origin: origin, value: value, valid: judgement.isValid, note: judgement.note))
    }

    private func parse(_ text: String) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }
}

extension JSON {
    /// The value of a member.
    subscript(name: String) -> JSON? { self[[Substring(name)]] }
}
