import JuiceEngine

/// One worker's log on a ``SimulatedCluster``: a member of its group with two transactional producers.
package final class SimulatedLog: CommandLog {
    /// The calls at which a fault can be injected.
    package enum Call: Hashable, CaseIterable {
        case initTransactions, poll, start, restorePoints, openChangelog, readChangelog
        case begin, produce, sendOffsets, commit

        /// The calls that send transactional requests.
        static let transactional: [Call] = [.initTransactions, .produce, .sendOffsets, .commit]

        /// Whether it waits for a broker. Records are sent in the background.
        var isRemote: Bool {
            switch self {
            case .initTransactions, .restorePoints, .sendOffsets, .commit: true
            case .poll, .start, .openChangelog, .readChangelog, .begin, .produce: false
            }
        }
    }

    package let cluster: SimulatedCluster
    package let member: String
    let flaw: Flaw?
    /// The transactional id of each producer, and how often the producer has moved on to another.
    var ids: [String] { zip(["a", "b"], moves).map { "\(member)-\($0)" + ($1 > 0 ? "/\($1)" : "") } }
    var moves = [0, 0]
    var epochs: [Int] = []
    var turn = 0
    /// Whether a record of the open transaction was not delivered.
    var isIncomplete = false
    var isInTransaction = false
    /// The turns of producers that may still have a request under way.
    var suspects: Set<Int> = []
    /// Those of them whose request has offsets.
    var offsetSuspects: Set<Int> = []

    var membership: SimulatedGroup.Membership
    /// The generation of the assignment that the worker has.
    var assignedGeneration: Int?
    /// The assigned partitions by topic, and what the worker reads of them.
    var given: [[Int32]] = [[], []]
    var share: InputShare?
    var positions: [SimulatedCluster.Place: Offset] = [:]
    /// The ends already reported: like librdkafka, the log reports each end once.
    var reportedEnds: [SimulatedCluster.Place: Offset] = [:]
    /// What the open transaction commits, and what this worker's transactions have committed.
    var sentOffsets: [SimulatedCluster.Place: Offset] = [:]
    var ownOffsets: [SimulatedCluster.Place: Offset] = [:]
    /// What shows that the offsets of each producer's last transaction are applied, by turn.
    var awaited: [Int: OffsetEvidence] = [:]
    /// The offsets of the last transaction, unless the worker's partitions were restored since.
    var lastOffsets: [SimulatedCluster.Place: Offset] = [:]
    var changelog: [SimulatedCluster.Place: (topic: ChangelogTopic, next: Offset)] = [:]
    var lentRecords: [SimulatedPartition.Record] = []

    /// Called before each call; an error is thrown instead of making the call.
    package var fault: (Call) -> LogError? = { _ in nil }
    /// Called after each call; an error is thrown although the call was made: its reply is lost.
    package var lostReply: (Call) -> LogError? = { _ in nil }
    /// Called for each transactional request: if the first copy is held back, how long the call takes, in milliseconds.
    package var heldBack: (Call) -> Int? = { _ in nil }
    /// Whether the next record is lost.
    package var losesDelivery = false
    /// The largest record that is not refused, in bytes.
    package var largestRecord = Int.max
    /// Records that are refused for other reasons than their size.
    package var refuses: (OutputRecord) -> Bool = { _ in false }
    /// Records that cannot be written for now.
    package var breaks: (OutputRecord) -> Bool = { _ in false }
    /// The most records of a transaction that does not fail.
    package var largestTransaction = Int.max
    /// Partitions that have no leader.
    package var leaderless: Set<Int32> = []
    var producedCount = 0
    /// Called with a line for each call and its outcome.
    package var trace: ((String) -> Void)?

    package init(cluster: SimulatedCluster, member: String, flaw: Flaw? = nil) {
        self.cluster = cluster
        self.member = member
        self.flaw = flaw
        membership = cluster.group.join(member)
    }

    package var now: Timestamp { cluster.now }

    package func name(of topic: InputTopic) -> String { "juice.\(topic)" }

    package func leave() {
        trace?("leave")
        cluster.group.remove(member)
    }

    /// Makes a call, unless a fault is due or the cluster is down.
    func call<Result>(
        _ call: Call,
        _ body: () throws(LogError) -> Result
    ) throws(LogError) -> Result {
        do throws(LogError) {
            if let error = fault(call) { throw error }
            if cluster.isDown, call.isRemote { throw LogError(.retry, "no broker answers") }
            let result = try body()
            if let error = lostReply(call) {
                trace?("\(call): done, but the reply is lost")
                throw error
            }
            if call != .poll { trace?("\(call)") }
            return result
        } catch {
            trace?("\(call): \(error.remedy), \(error.message)")
            throw error
        }
    }
}
