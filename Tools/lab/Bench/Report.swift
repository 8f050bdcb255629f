import Foundation
import JuiceDomain
import Kafka

/// The result of a measurement: figures, each with its value in every round.
struct Report: Encodable {
    let benchmark: String
    let machine: Machine
    /// The options of the run, and other conditions of the figures.
    let settings: [String: Int]
    private(set) var figures: [Figure] = []

    init(_ benchmark: String, on machine: Machine = Machine(), _ settings: [String: Int]) {
        (self.benchmark, self.machine, self.settings) = (benchmark, machine, settings)
    }

    /// Adds a round's value of a figure, nil if it is not known, and the goal for its median.
    mutating func add(_ name: String, _ value: Double?, _ goal: Goal? = nil) {
        // JSON cannot express infinity.
        let value = value.flatMap { $0.isFinite ? $0 : nil }
        let index = figures.firstIndex { $0.name == name } ?? figures.endIndex
        if index == figures.endIndex { figures.append(Figure(name: name, goal: goal)) }
        figures[index].rounds.append(value)
    }

    /// Adds a round's values of all contenders, and the ratios of the service's to those for which there are goals. If there are
    /// any, peers are compared as well.
    ///
    /// A ratio is taken in each round, since a slow round affects all contenders.
    mutating func compare(_ what: String, _ values: [Contender: Double?], goals: [Contender: Goal] = [:]) {
        let contenders = values.keys.sorted()
        for contender in contenders { add("\(what), \(contender.name)", values[contender] ?? nil) }
        for other in contenders where goals[other] != nil || other.isPeer && !goals.isEmpty {
            add("\(what), service to \(other.name)", ratio(values[.service] ?? nil, values[other] ?? nil), goals[other])
        }
    }
}

/// The ratio of two figures; nil if one of them is unknown.
func ratio(_ figure: Double?, _ other: Double?) -> Double? { figure.flatMap { figure in other.map { figure / $0 } } }

/// A figure of a report.
struct Figure: Encodable {
    /// What is measured, and its unit.
    let name: String
    let goal: Goal?
    fileprivate(set) var rounds: [Double?] = [] {
        didSet {
            median = Self.median(values)
            met = goal.flatMap { goal in median.map(goal.isMet) }
        }
    }
    private(set) var median: Double?
    /// Whether the median meets the goal; nil if there is none, or if nothing was measured.
    private(set) var met: Bool?

    /// The values that are known.
    fileprivate var values: [Double] { rounds.compactMap { $0 } }

    /// The middle value, or the mean of the two middle values; nil for no values.
    static func median(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return nil }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }

    /// A percentile by the nearest-rank method; nil for no values.
    static func percentile(_ percent: Double, ofSorted sorted: [Double]) -> Double? {
        guard !sorted.isEmpty else { return nil }
        // 99.9 has no exact binary form; the rounding error must not lead to the next rank.
        let rank = Int((percent * Double(sorted.count) / 100 - 1e-9).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    static let locale = Locale(identifier: "en_US")

    /// A number with three significant digits in most cases: `1,234,567`, `123`, `12.3`, `1.23`, `0.012`.
    static func text(_ value: Double?) -> String {
        guard let value else { return "-" }
        let size = abs(value)
        let decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3
        return value.formatted(.number.precision(.fractionLength(decimals)).locale(locale))
    }
}

/// The limit for a figure's median.
struct Goal: Encodable {
    private enum Bound: String, Encodable { case atLeast, atMost }

    private let bound: Bound
    private let limit: Double

    static func atLeast(_ limit: Double) -> Goal { Goal(bound: .atLeast, limit: limit) }
    static func atMost(_ limit: Double) -> Goal { Goal(bound: .atMost, limit: limit) }

    func isMet(_ value: Double) -> Bool { bound == .atLeast ? value >= limit : value <= limit }

    var text: String { "\(bound == .atLeast ? "≥" : "≤") \(Figure.text(limit))" }
}

/// The machine and the versions of a measurement.
struct Machine: Encodable {
    var cores = ProcessInfo.processInfo.activeProcessorCount
    var system = ProcessInfo.processInfo.operatingSystemVersionString
    var librdkafka = KafkaLibrary.version
    /// `host:port` of each broker; Kafka's protocol does not report their version.
    var brokers: [String] = []
    /// The output of `juice --version`; nil if the measurement runs no service.
    var juice: String?
}

extension Report {
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// The settings and the machine, and a table of the figures.
    var text: String {
        let options = settings.sorted { $0.key < $1.key }.map { "\($0) \($1.formatted(.number.locale(Figure.locale)))" }
        let place =
            [machine.cores.counted("core"), machine.system, "librdkafka \(machine.librdkafka)"]
            + machine.brokers.map { "broker \($0)" } + (machine.juice.map { ["juice \($0)"] } ?? [])
        let heads = ["\(benchmark): \(options.joined(separator: ", "))", place.joined(separator: ", "), ""]
        return (heads + table([["", "median", "least", "most"]] + rows)).joined(separator: "\n")
    }

    private var rows: [[String]] {
        figures.map { figure in
            let verdict = figure.goal.map { goal in "\(goal.text) \(figure.met.map { $0 ? "met" : "missed" } ?? "not measured")" }
            let numbers = [figure.median, figure.values.min(), figure.values.max()]
            return [figure.name] + numbers.map(Figure.text) + (verdict.map { [$0] } ?? [])
        }
    }
}
