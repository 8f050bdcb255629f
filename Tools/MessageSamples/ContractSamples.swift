import Foundation
import JuiceDomain
import JuiceMessages

/// A record's value, and whether its schema must accept it.
package struct Sample: Encodable {
    /// The files in docs/schemas.
    enum Schema: String, Encodable {
        case order, restock, answer, stock, menu
        case journalNote = "journal-note"
        case deadLetterHeaders = "dead-letter-headers"

        init(_ kind: CommandKind) { self = kind == .restock ? .restock : .order }
    }

    enum Origin: String, Encodable {
        /// A message of the tests of encoders and decoders.
        case golden
        /// Random, and written by the service's encoders.
        case generated
        /// Generated, and damaged so that it is invalid.
        case broken
    }

    let schema: Schema
    let origin: Origin
    /// The bytes of the record, as text.
    let value: String
    /// Whether the service accepts or writes it; nil if that depends on the menu.
    let valid: Bool?
    /// The damage, or the service's judgement.
    let note: String

    /// The sample as a line of JSON.
    package func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// Random messages for the check of the schemas: commands and their answers, each also damaged.
package struct Generation {
    private var commands: RandomCommands
    private var shop = Shop()
    private var samples: [Sample] = []
    // The next damage for each kind of message: they take turns.
    private var turns: [String: Int] = [:]

    /// The same seed makes the same messages.
    package init(seed: UInt64) { commands = RandomCommands(seed: seed) }

    /// Removes and returns the samples since the last call.
    package mutating func removeSamples() -> [Sample] {
        defer { samples = [] }
        return samples
    }

    /// Continues with another store, of another menu.
    package mutating func openShop() throws {
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
    package mutating func submitNext() throws {
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
    package mutating func noteNext() throws {
        let value = written { commands.note().write(into: &$0) }
        add(.journalNote, .generated, value, .accepted)
        try addBroken(.journalNote, value)
    }

    /// A kind of message of which too few were made to apply each of its damages; nil if there is none.
    package func kindNotFullyDamaged() -> String? {
        let damages = Damage.byType.merging(
            [
                "order": Damage.ofOrders, "restock": Damage.ofRestocks, "menu": Damage.ofMenus,
                "stock": Damage.ofStock,
            ]
        ) { first, _ in first }
        return damages.keys.sorted().first { turns[$0, default: 0] < damages[$0]?.count ?? 0 }
    }

    private mutating func answer(_ kind: CommandKind, _ value: String) throws {
        guard let answered = shop.answer(kind, value) else { return }
        for answer in answered.values + [answered.lost] { add(.answer, .generated, answer, .accepted) }
        for answer in [answered.values[0], answered.lost] { try addBroken(.answer, answer) }

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

/// The messages of the tests of encoders and decoders, judged by the service.
package enum GoldenSamples {
    /// All of them.
    package static var all: [Sample] { answers + commands + menus + deadLetterHeaders }

    private static var answers: [Sample] {
        func valid(_ schema: Sample.Schema, _ value: String, _ note: String) -> Sample {
            sample(schema, value, Judgement(isValid: true, note: note))
        }
        return GoldenAnswers.all.map { valid(.answer, $0, "an answer") }
            + GoldenNotes.all.map { valid(.journalNote, $0.value, "a note") }
            + [valid(.stock, GoldenAnswers.stock, "a stock record")]
    }

    private static var commands: [Sample] {
        let decoder = CommandDecoder(menu: .standard)
        func judged(_ kind: CommandKind, _ value: String) -> Sample {
            sample(Sample.Schema(kind), value, decoder.judge(kind, value))
        }
        let rejected = GoldenCommands.rejectedOrders + GoldenCommands.rejectedBaskets + GoldenCommands.rejectedCancels
        let orders = (GoldenCommands.orders + GoldenCommands.baskets).map(\.value) + GoldenCommands.cancels + rejected.map(\.value)
        let restocks = GoldenCommands.restocks.map(\.value) + GoldenCommands.rejectedRestocks.map(\.value)
        let letters = GoldenCommands.deadLetters.map(\.value)
        return (orders + letters).map { judged(.order, $0) } + (restocks + letters).map { judged(.restock, $0) }
    }

    private static var menus: [Sample] {
        let standard = written { MenuFile.encode(.standard, into: &$0) }
        return (GoldenMenus.malformed.map(\.json) + [standard]).map { sample(.menu, $0, Judgement(menu: $0)) }
    }

    private static var deadLetterHeaders: [Sample] {
        func headers(_ code: String, _ message: String) -> JSON {
            .object([
                (HeaderName.errorCode, .string(code)), (HeaderName.errorMessage, .string(message)),
                (HeaderName.sourceTopic, .string("juice.orders")),
                (HeaderName.sourcePartition, .string("3")), (HeaderName.sourceOffset, .string("42")),
            ])
        }
        func sample(_ code: String, _ message: String, _ valid: Bool, _ note: String) -> Sample {
            self.sample(.deadLetterHeaders, headers(code, message).text, Judgement(isValid: valid, note: note))
        }
        return DeadLetterReason.allCases.map { sample($0.code, $0.message, true, $0.code) }
            + [sample("badWeather", "it rains", false, "an unknown code")]
    }

    private static func sample(_ schema: Sample.Schema, _ value: String, _ judgement: Judgement) -> Sample {
        Sample(schema: schema, origin: .golden, value: value, valid: judgement.isValid, note: judgement.note)
    }
}

/// The service's judgement of a message.
struct Judgement {
    /// Nil if it depends on the menu, which no schema knows.
    let isValid: Bool?
    let note: String

    static let accepted = Judgement(isValid: true, note: "accepted")
}

extension Judgement {
    init(_ decoded: consuming DecodedRecord) {
        switch decoded {
        case .command(_, _, .reject(let rejection)):
            let isOfMenu = rejection.reason == .unknownJuice || rejection.reason == .unknownFruit
            self.init(isValid: isOfMenu ? nil : false, note: rejection.reason.rawValue)
        case .command: self = .accepted
        case .undecodable(let reason): self.init(isValid: false, note: reason.code)
        }
    }

    /// The judgement of a menu file.
    init(menu file: String) {
        let menu = BorrowedText.withText(file) { file in
            Result { () throws(MenuFile.Failure) in try MenuFile.decode(file.bytes) }
        }
        switch menu {
        case .success: self = .accepted
        case .failure(let error):
            var isBeyondSchema = false
            // A schema compares no two parts of a menu.
            if case .invalid(let fault) = error {
                isBeyondSchema = ["is taken", "already", "no fruit"].contains { fault.problem.contains($0) }
            }
            self.init(isValid: isBeyondSchema ? nil : false, note: error.description)
        }
    }
}

extension CommandDecoder {
    /// The judgement of a value of the orders or the restocks topic.
    func judge(_ kind: CommandKind, _ value: String) -> Judgement {
        BorrowedText.withText(value) { text in
            Judgement(decode(text.bytes, of: kind.inputTopic))
        }
    }
}
