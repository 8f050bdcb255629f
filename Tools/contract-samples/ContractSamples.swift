import ArgumentParser
import Foundation
import JuiceMaker
import JuiceMessages

/// Prints messages for the check of the schemas, a line of JSON each: what the service takes and writes, and what it
/// does not.
@main
struct ContractSamples: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contract-samples",
        abstract: "Print messages that the schemas in docs/schemas must judge as the service does."
    )

    @Option(help: "How many commands to make up, each with its answers and damaged ones.")
    var commands = 800

    @Option(help: "The same seed makes the same messages.")
    var seed: UInt64 = 1

    func run() throws {
        for sample in GoldenSamples.all { print(try sample.line()) }
        var generation = Generation(seed: seed)
        for number in 0..<commands {
            if number.isMultiple(of: 25) { try generation.openShop() }
            try generation.submitNext()
            for sample in generation.takeSamples() { print(try sample.line()) }
        }
        if let kind = generation.kindNotFullyDamaged() {
            throw ValidationError("too few commands to damage the kind \(kind) in every way")
        }
    }
}

/// Commands, their answers, and both damaged.
struct Generation {
    private var commands: RandomCommands
    private var shop = Shop(menu: .standard, store: "gangnam")
    private var samples: [Sample] = []
    // Which damage of each kind is next: every one is done in its turn.
    private var turns: [String: Int] = [:]

    init(seed: UInt64) {
        commands = RandomCommands(seed: seed)
    }

    /// What was made since this was last called.
    mutating func takeSamples() -> [Sample] {
        defer { samples = [] }
        return samples
    }

    /// Goes on with another store, of another menu.
    mutating func openShop() throws {
        shop = try commands.shop()
        let file = written { MenuFile.encode(shop.menu, into: &$0) }
        note(.menu, .generated, file, Judgement(menu: file))
        let menu = try parse(file)
        for _ in 0..<10 {
            guard let (damaged, damage) = damaged(menu, "menu", Damage.ofMenus) else { continue }
            noteDamaged(.menu, damaged, damage, Judgement(menu: damaged))
        }
    }

    /// Makes up one command and sees it through.
    mutating func submitNext() throws {
        let (kind, value) = commands.next(of: shop.menu)
        let schema: Sample.Schema = kind == .order ? .order : .restock
        note(schema, .generated, value, shop.decoder.judge(kind, value))
        try answer(kind, value)

        let damages = kind == .order ? Damage.ofOrders : Damage.ofRestocks
        guard let (damaged, damage) = damaged(try parse(value), schema.rawValue, damages) else { return }
        noteDamaged(schema, damaged, damage, shop.decoder.judge(kind, damaged))
        try answer(kind, damaged)
    }

    /// A kind of message that was not made often enough for each of its damages to have had its turn.
    func kindNotFullyDamaged() -> String? {
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
        for answer in answers { note(.answer, .generated, answer, .accepted) }
        guard let first = answers.first else { return }
        let answer = try parse(first)
        guard case .literal(let quoted) = answer["type"] else { return }
        let type = quoted.trimmingCharacters(in: ["\""])
        if let (damaged, damage) = damaged(answer, type, Damage.byType[type] ?? []) {
            note(.answer, .broken, damaged, Judgement(isValid: false, note: "\(damage)"))
        }

        guard let record = shop.stockRecord() else { return }
        note(.stock, .generated, record, .accepted)
        if let (damaged, damage) = damaged(try parse(record), "stock", Damage.ofStock) {
            note(.stock, .broken, damaged, Judgement(isValid: false, note: "\(damage)"))
        }
    }

    private mutating func damaged(_ message: JSON, _ kind: String, _ damages: [Damage]) -> (String, Damage)? {
        guard !damages.isEmpty else { return nil }
        let turn = turns[kind, default: 0]
        turns[kind] = turn + 1
        let damage = damages[turn % damages.count]
        return damage.applied(to: message).map { ($0.text, damage) }
    }

    private mutating func noteDamaged(
        _ schema: Sample.Schema,
        _ value: String,
        _ damage: Damage,
        _ judgement: Judgement
    ) {
        let note = Judgement(isValid: judgement.isValid, note: "\(damage) (\(judgement.note))")
        self.note(schema, judgement.isValid == true ? .generated : .broken, value, note)
    }

    private mutating func note(
        _ schema: Sample.Schema,
        _ origin: Sample.Origin,
        _ value: String,
        _ judgement: Judgement
    ) {
        samples.append(
            Sample(
                schema: schema,
                origin: origin,
                value: value,
                valid: judgement.isValid,
                note: judgement.note
            )
        )
    }

    private func parse(_ text: String) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }
}

extension JSON {
    /// The value of a member.
    subscript(name: String) -> JSON? {
        self[[Substring(name)]]
    }
}
