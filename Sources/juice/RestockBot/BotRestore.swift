import JuiceMaker
import JuiceMessages
import JuiceRestockBot
import JuiceService
import Kafka

/// Finds out how things stand in partitions that were just assigned: which stores are short of what, and which refills are on
/// their way, whoever sent them.
///
/// In this order, so that nothing falls in between:
/// 1. The offsets that the bots have committed. The broker tells them once no transaction is undecided about them, so what
///    former owners of the partitions have sent is then written, and what they have not can no longer be.
/// 2. The offsets that the service has committed: the restocks before them are answered.
/// 3. The true ends of stock and restocks. Up to there both are read as committed.
/// 4. The true end of the answers. They are read from 1 on, and nothing is decided before that end: every change that the
///    stock showed already is told by an answer up to there.
final class BotRestore {
    /// The state of one partition, and from where to where the answers are to be read before anything is decided.
    struct Partition {
        var watch: ShortageWatch
        let answers: Range<Offset>
    }

    let partitions: [Int32]
    private let clients: BotClients
    private let membership: BotMembership
    private let formerBots: FormerBots
    private let reader: Consumer
    private let logEnds: Consumer
    private let decoder = StockDecoder()
    private let commands = CommandDecoder(menu: .standard)

    private var watches: [Int32: ShortageWatch]
    /// Where the answers are to be read from; nil until that is known.
    private var starts: [Int32: Offset]?
    /// What is not read yet, and to which end.
    private var unread: [TopicPartition: Offset] = [:]
    private var lastProgress = ContinuousClock.now
    private var hasToldOfWaiting = false

    /// A transaction that takes longer than this to be decided is suspected to be a dead bot's.
    private static let patience = Duration.milliseconds(500)
    private static let callTimeout = Duration.seconds(2)

    init(_ partitions: [Int32], _ membership: BotMembership, ownName: String, _ clients: BotClients)
        throws(Failure)
    {
        self.partitions = partitions
        self.clients = clients
        self.membership = membership
        formerBots = FormerBots(clients, ownName: ownName)
        reader = try clients.reader()
        logEnds = try clients.logEnds()
        watches = Dictionary(
            uniqueKeysWithValues: partitions.map {
                ($0, ShortageWatch(rules: clients.plan.rules, group: clients.plan.group, partition: $0))
            }
        )
    }

    deinit {
        reader.close()
        logEnds.close()
    }

    /// Takes the next step, which blocks for a second or two at most.
    ///
    /// - Returns: nil until it is known how things stand.
    /// - Throws: ``KafkaError``; after one to be retried, the next call goes on where this one did not.
    func step() throws(KafkaError) -> [Int32: Partition]? {
        guard let starts else {
            self.starts = try begin()
            lastProgress = .now
            return nil
        }
        if !unread.isEmpty { try read() }
        guard unread.isEmpty else { return nil }
        let ends = try logEnds.endOffsets(of: of(topics.results), timeout: Self.callTimeout)
        var restored: [Int32: Partition] = [:]
        for (number, watch) in watches {
            guard let end = ends[TopicPartition(topic: topics.results, partition: number)] else {
                throw KafkaError(
                    code: .timedOut,
                    message: "no answer about partition \(number)",
                    isRetriable: true
                )
            }
            let start = min(starts[number] ?? end, end)
            restored[number] = Partition(watch: watch, answers: start..<end)
        }
        return restored
    }

    private var topics: TopicNames { clients.connection.topics }

    private func of(_ topic: String) -> [TopicPartition] {
        partitions.map { TopicPartition(topic: topic, partition: $0) }
    }

    // MARK: - Where to read

    private func begin() throws(KafkaError) -> [Int32: Offset] {
        let own = try ownCommitted()
        let answersEnds = try reader.endOffsets(of: of(topics.results), timeout: Self.callTimeout)
        let service = try reader.committed(of(topics.restocks), timeout: Self.callTimeout)
        let logs = try logEnds.watermarks(
            of: of(topics.stock) + of(topics.restocks) + of(topics.results),
            timeout: Self.callTimeout
        )
        try checkServiceGroup(service, logs)
        var starts: [Int32: Offset] = [:]
        var positions: [TopicPartition: Offset] = [:]
        for number in partitions {
            let answers = TopicPartition(topic: topics.results, partition: number)
            let restocks = TopicPartition(topic: topics.restocks, partition: number)
            let stock = TopicPartition(topic: topics.stock, partition: number)
            let read = service[restocks] ?? nil
            let low = logs[answers]?.low ?? 0
            // What the service has read before its offsets were lost, only its answers tell.
            starts[number] =
                read == nil ? low : max(low, (own[answers] ?? nil) ?? answersEnds[answers] ?? low)
            positions[restocks] = max(read ?? 0, logs[restocks]?.low ?? 0)
            positions[stock] = logs[stock]?.low ?? 0
        }
        unread = positions.reduce(into: [:]) { unread, entry in
            guard let end = logs[entry.key]?.high, entry.value < end else { return }
            unread[entry.key] = end
        }
        try reader.assign(positions.filter { unread[$0.key] != nil })
        return starts
    }

    private func ownCommitted() throws(KafkaError) -> [TopicPartition: Offset?] {
        do throws(KafkaError) {
            return try membership.consumer.committed(of(topics.results), timeout: Self.patience)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        try endFormerTransactions()
        return try membership.consumer.committed(of(topics.results), timeout: Self.callTimeout)
    }

    private func endFormerTransactions() throws(KafkaError) {
        let notes = try logEnds.committedNotes(of(topics.results), timeout: Self.callTimeout)
        formerBots.endTransactions(of: Set(notes.values.filter { !$0.isEmpty }))
    }

    private var hasCheckedServiceGroup = false

    private func checkServiceGroup(
        _ service: [TopicPartition: Offset?],
        _ logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) {
        let isUnknown = partitions.contains { number in
            let answers = logs[TopicPartition(topic: topics.results, partition: number)]?.high ?? 0
            let read = service[TopicPartition(topic: topics.restocks, partition: number)] ?? nil
            return read == nil && answers > 0
        }
        guard isUnknown, !hasCheckedServiceGroup else { return }
        hasCheckedServiceGroup = true
        clients.logger.warning(
            """
            there are answers, but the service's group \(clients.plan.serviceGroup) has committed nothing: is --group right? \
            All restocks and answers are read to find out which refills are on their way
            """
        )
    }

    // MARK: - Reading

    private func read() throws(KafkaError) {
        for element in try reader.poll(maxRecords: 10_000, timeout: .milliseconds(100)) {
            switch element {
            case .record(let record):
                take(record)
                lastProgress = .now
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                if let end = unread[partition], record.offset >= end - 1 { unread[partition] = nil }
            case .endOfPartition(let partition, let next):
                if let end = unread[partition], next >= end {
                    unread[partition] = nil
                    lastProgress = .now
                }
            case .failure(_, let error) where error.remedy == .retry: continue
            case .failure(_, let error): throw error
            }
        }
        guard !unread.isEmpty, .now - lastProgress > Self.patience else { return }
        try endFormerTransactions()
        guard .now - lastProgress > Self.patience * 6, !hasToldOfWaiting else { return }
        hasToldOfWaiting = true
        let names = unread.keys.map(\.description).sorted().joined(separator: ", ")
        clients.logger.notice("waiting until somebody's transaction is decided: \(names)")
    }

    private func take(_ record: ConsumedRecord) {
        let number = record.partition
        guard watches[number] != nil, let store = StoreID.read(key: record.key).map(String.init) else {
            return
        }
        if record.topic == topics.stock {
            guard let value = record.value else {
                watches[number]?.noteGone(store: store)
                return
            }
            // One that is no stock record is skipped: the service would not start on it.
            if let stock = try? decoder.decode(value) { watches[number]?.note(stock: stock) }
        } else {
            switch commands.decodeRestock(record.value) {
            case .command(let restock): watches[number]?.note(sent: String(restock.id), to: store)
            // By another menu than the service's it may seem so.
            case .rejected(let id, _): watches[number]?.note(sent: String(id), to: store)
            case .undecodable: return
            }
        }
    }
}
