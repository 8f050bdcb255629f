import Foundation

/// The outcome of a client's request.
enum RequestOutcome: String, CaseIterable, Sendable {
    case passed
    case heldBack = "held back"
    case cut
    case delayed
    case answerDropped = "answer dropped"
    case replayed
}

/// Counts requests by kind and outcome.
struct RequestCounts: Sendable {
    private var counts: [ApiKey: [RequestOutcome: Int]] = [:]

    mutating func add(_ outcome: RequestOutcome, of key: ApiKey) {
        counts[key, default: [:]][outcome, default: 0] += 1
    }

    /// A table with a line for each kind of request.
    var lines: [String] {
        let outcomes = RequestOutcome.allCases
        func row(_ name: String, _ cells: [String]) -> String {
            Console.row(name, cells, nameWidth: 20, cellWidth: 16)
        }
        let keys = counts.keys.sorted {
            let (first, second) = (ApiKey.transactional.contains($0), ApiKey.transactional.contains($1))
            return first == second ? $0.rawValue < $1.rawValue : first
        }
        return [row("requests", outcomes.map(\.rawValue))]
            + keys.map { key in row("\(key)", outcomes.map { "\(counts[key]?[$0] ?? 0)" }) }
    }
}

/// The statistical power of a run: whether it could have detected a service that is not protected from late requests.
struct NetworkPower: Equatable, Sendable {
    /// The number of late requests.
    private(set) var late = 0
    /// Those that arrived while a later transaction of the same transactional id was open.
    private(set) var met = 0
    /// Those of the latter with the producer id and epoch of that transaction.
    private(set) var sameEpoch = 0
    /// The brokers' responses to those that met a transaction.
    private(set) var carriedOut: [ApiKey: Int] = [:]
    private(set) var refused: [Int16: Int] = [:]
    private(set) var unanswered = 0

    /// Records a late request.
    ///
    /// - Parameter answer: the response; nil if there was none.
    mutating func record(_ key: ApiKey, _ answer: Answer?, hasMet: Bool, isSameEpoch: Bool) {
        late += 1
        guard hasMet else { return }
        met += 1
        if isSameEpoch { sameEpoch += 1 }
        switch answer?.error {
        case nil: unanswered += 1
        case 0: carriedOut[key, default: 0] += 1
        case .some(let code): refused[code, default: 0] += 1
        }
    }

    var line: String {
        guard met > 0 else {
            return "power: \(late) late requests, and no late request met a later transaction: "
                + "this run proves nothing about late requests"
        }
        let done = carriedOut.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" }
        let codes = refused.sorted { $0.key < $1.key }.map { "\(Answer.name(ofError: $0.key)): \($0.value)" }
        return "power: \(late) late requests, \(met) met a later transaction of their transactional id, "
            + "\(sameEpoch) of these in its own epoch; of the \(met), brokers carried out "
            + Self.text(carriedOut.values.reduce(0, +), done) + ", refused " + Self.text(refused.values.reduce(0, +), codes)
            + (unanswered > 0 ? ", left unanswered \(unanswered)" : "")
    }

    private static func text(_ count: Int, _ parts: [String]) -> String {
        parts.isEmpty ? "\(count)" : "\(count) (\(parts.joined(separator: ", ")))"
    }
}
