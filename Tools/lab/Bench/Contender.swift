import ArgumentParser

/// A program that a measurement compares, in the order of reports.
enum Contender: Hashable, Comparable {
    /// `juice serve`.
    case service
    /// The bare loop by Kafka's own recipe, with records as long as the service's answers: the baseline.
    case bare
    /// The same without offsets in its transactions: the least that a journal can cost.
    case least
    /// Another program that answers orders, as Tools/peers/README.md says, and the shell command that starts it.
    case peer(name: String, command: String)

    /// Its name in reports.
    var name: String {
        switch self {
        case .service: "service"
        case .bare: "bare loop"
        case .least: "no offsets"
        case .peer(let name, _): name
        }
    }

    /// Its part of a topic's name.
    var topicName: String { name.replacing(" ", with: "-") }

    var isPeer: Bool { if case .peer = self { true } else { false } }
}

extension Contender {
    /// Reads `NAME=COMMAND`. The name becomes part of a topic's.
    init(peer text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, parts[0].wholeMatch(of: /[A-Za-z0-9_-]+/) != nil else {
            throw ValidationError("must be name=command, with a name of letters, digits, underscores and hyphens")
        }
        self = .peer(name: parts[0], command: parts[1])
    }
}

/// What the service is measured beside.
struct ContenderOptions: ParsableArguments {
    @Option(
        name: .customLong("peer"),
        help: ArgumentHelp(
            "Another program that answers orders, and is judged: see Tools/peers/README.md. May be repeated.",
            valueName: "name=command"),
        transform: Contender.init(peer:))
    var peers: [Contender] = []

    @Option(
        help: ArgumentHelp(
            "The broker's process, if it is the only one and on this machine, to report its processor time, too.",
            valueName: "pid"))
    var brokerProcess: Int32?

    var contenders: [Contender] { [.service, .bare, .least] + peers }

    /// The processor time that the broker has used so far; nil if it is not known.
    var brokerTime: Duration? { brokerProcess.flatMap { Child.processorTime(of: $0) } }

    /// Adds a round's processor time of the broker, if it is known.
    func addBroker(_ results: [Contender: Throughput], to report: inout Report) {
        guard brokerProcess != nil else { return }
        report.compare("broker's µs/order", results.mapValues(\.brokerMicrosecondsPerOrder))
    }

    func validate() throws {
        let names = contenders.map(\.name)
        guard Set(names).count == names.count else { throw ValidationError("two contenders have the same name") }
        if let brokerProcess, brokerTime == nil { throw ValidationError("there is no process \(brokerProcess)") }
    }
}
