import JuiceEngine
import JuiceMessages

/// One worker's port to a ``SimulatedCluster``: a group member with transactional producers, which take turns.
final class SimulatedPort: KafkaPort {
    /// The calls at which a fault can be injected.
    enum Call: Hashable, CaseIterable {
        case poll, start, readBack
        case extents, openTransactions, groupOffsets, confirmMembership, initTransactions, fence
        case answerReaches, openChangelog, readChangelog
        case begin, produce, flush, commit

        /// Calls that may take effect although they fail.
        static let lossy: Set<Call> = [.confirmMembership, .initTransactions, .fence, .flush, .commit]

        /// Whether it waits for a broker. Records are sent in the background.
        var isRemote: Bool {
            switch self {
            case .poll, .start, .openChangelog, .readChangelog, .begin, .produce: false
            default: true
            }
        }
    }

    /// A point right after which a pause may do most harm.
    enum Point: CaseIterable {
        case initialised, measured, betweenFences, fenced, claimProduced, claimCommitted, journalRead
        case polled, midTransaction, flushed, committed

        /// Points before a takeover is complete.
        static let ofTakeovers = [initialised, measured, betweenFences, fenced, claimProduced, claimCommitted, journalRead]
    }

    let cluster: SimulatedCluster
    let member: String
    /// The number of its consumer group.
    let group: Int
    private let flaws: SimulatedFlaws
    var flaw: Flaw? { flaws.flaw }

    /// The set of transactional ids in use, and its producers, used in turn.
    private(set) var set: Int
    private(set) var producers: [SimulatedProducer] = []
    private let written = WrittenOffsets()
    private var turn = 0
    private var isInitialising = false
    /// The ids to fence, and those already fenced.
    private var fencing: Set<String> = []
    private var fenced: Set<String> = []
    /// Whether the open transaction has claims.
    private var isClaiming = false
    /// When the open transaction got its first record. It is short: only a clock change gives later records another time.
    private var writtenAt: Timestamp?

    /// Nil for an operator's tool.
    private var membership: SimulatedGroup.Membership?
    /// Whether it has left the group, perhaps for a while.
    private var hasLeft = false
    /// The generation of the worker's assignment.
    private var assignedGeneration: Int?
    private var assignment: InputAssignment?
    /// Until when the member hears nothing from its group.
    var deafUntil: Timestamp = .min
    private var positions: [Place: Offset] = [:]
    /// The ends already reported: like librdkafka, the log reports each end once.
    private var reportedEnds: [Place: Offset] = [:]
    /// How often each log had lost records at the last query of its extents.
    private var seenLosses: [Place: Int] = [:]
    /// The next offset of each changelog that is read.
    private var changelog: [Place: Offset] = [:]
    private var isolation = Isolation.committed
    private var lentRecords: [SimulatedPartition.Record] = []
    /// The changelog records of the last read.
    private var lentChanges: [SimulatedPartition.Record] = []
    /// What the worker did last, if a pause may do harm now.
    private(set) var point: Point?

    /// Called before each call; an error is thrown instead of making the call.
    var fault: (Call) -> LogError? = { _ in nil }
    /// Called after each call; an error is thrown although the call was made: its reply is lost.
    var lostReply: (Call) -> LogError? = { _ in nil }
    /// Whether the next record is lost.
    var losesDelivery = false
    /// Called with each record; an error is thrown instead of writing it.
    var refusal: (OutputRecord) -> LogError? = { _ in nil }
    /// The most records to read from a changelog's partition at a time.
    var longestRead = 5
    /// Called with a line for each call and its outcome.
    var trace: ((String) -> Void)?

    /// - Parameter assignment: the partitions that an operator's tool takes over. Such a tool joins no group.
    init(
        cluster: SimulatedCluster, member: String, group: Int = 0, set: Int = 0, flaw: Flaw? = nil,
        operatorOf assignment: InputAssignment? = nil
    ) {
        (self.cluster, self.member, self.group, self.set, self.assignment) = (cluster, member, group, set, assignment)
        flaws = SimulatedFlaws(flaw, on: cluster)
        if assignment == nil { membership = cluster.groups[group].join(member) }
    }

    var now: Timestamp { cluster.now + cluster.clockOffsets[member, default: 0] }

    var uptime: Timestamp { flaw == .intervalsOfWallClock ? now : cluster.now }

    func leave(handsOver: Bool) {
        trace?("leave")
        if let membership, cluster.groups[group].isMember(membership) { cluster.groups[group].remove(member) }
        drop()
        (hasLeft, assignedGeneration, positions) = (true, nil, [:])
    }

    func rejoin() throws(LogError) {
        hasLeft = false
        membership = cluster.groups[group].join(member)
    }

    /// Ends the process. Records that its clients have sent may still arrive.
    func drop() {
        for producer in producers { producer.drop() }
        producers = []
    }

    /// Calls that trace themselves, or are too frequent to trace.
    private static let untraced: Set<Call> = [.poll, .produce, .extents, .openChangelog, .readChangelog, .fence]

    /// Makes a call, unless a fault is due or the cluster is down.
    private func call<Result>(_ call: Call, _ body: () throws(LogError) -> Result) throws(LogError) -> Result {
        point = nil
        // An operator's tool waits inside its calls.
        if membership == nil { cluster.writeAllMarkers() }
        do throws(LogError) {
            if let error = fault(call) { throw error }
            if cluster.isDown, call.isRemote { throw LogError(.retry, "no broker answers") }
            let result = try body()
            if let error = lostReply(call) {
                trace?("\(call): done, but the reply is lost")
                throw error
            }
            if !Self.untraced.contains(call) { trace?("\(call)") }
            return result
        } catch {
            trace?("\(call): \(error.message) (\(error.remedy))")
            throw error
        }
    }

    // MARK: - The group

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        try call(.poll) { () throws(LogError) in
            if let change = try nextRebalance() {
                trace?("poll: \(change)")
                return change
            }
            return cluster.isDown ? .records([], ends: []) : try readCommands(max: maxRecords)
        }
    }

    /// Rebalances like an eager consumer: first everything is revoked, then the new share is assigned.
    private func nextRebalance() throws(LogError) -> PollResult? {
        guard !cluster.isDown, !hasLeft, deafUntil <= cluster.now, let membership else { return nil }
        if cluster.groups[group].isReplaced(membership) { throw LogError.replaced }
        let isMember = cluster.groups[group].isMember(membership)
        if isMember, assignedGeneration == cluster.groups[group].generation { return nil }
        if assignedGeneration != nil {
            assignedGeneration = nil
            positions = [:]
            return .revoked
        }
        // A member whose session has expired rejoins.
        let renewed =
            isMember
            ? .init(name: member, number: membership.number, generation: cluster.groups[group].generation)
            : cluster.groups[group].join(member)
        (self.membership, assignedGeneration) = (renewed, renewed.generation)
        let given = cluster.groups[group].assignment(of: member)
        let assignment = cluster.assignment(ofOrders: given[0])
        self.assignment = assignment
        flaws.assigned(given)
        return .assigned(assignment)
    }

    func publish(_ offsets: [InputPartition: GroupOffset]) {
        guard !cluster.isDown, let membership, cluster.groups[group].isCurrent(membership) else { return }
        let offsets = places(offsets)
        trace?("publish " + offsets.map { "\($0)@\($1.offset)" }.sorted().joined(separator: " "))
        if cluster.isDisorderly() { cluster.lateOffsets.append((group, offsets)) } else { cluster.groups[group].commit(offsets) }
    }

    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError) {
        try call(.confirmMembership) { () throws(LogError) in
            guard let membership else { return }
            // A coordinator that lost its data, or is confused, accepts a stale member.
            guard cluster.groups[group].isCurrent(membership) || cluster.isDisorderly() else {
                throw LogError(.startOver, "generation \(membership.generation) is over")
            }
            cluster.groups[group].commit(places(offsets))
        }
    }

    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] {
        try call(.groupOffsets) { () throws(LogError) in
            // The journal names no id to fence. But the last owner's session has expired, and its transaction has timed out.
            if partitions.contains(where: { cluster.journal(of: $0.partition).hasLostOwner }) {
                cluster.now += 15_000
                cluster.transactions.timeOut(begunBefore: cluster.now - 10_000)
            }
            return partitions.reduce(into: [:]) { $0[$1] = cluster.groups[group].committed[Place($1)] }
        }
    }

    private func places(_ offsets: [InputPartition: GroupOffset]) -> [Place: GroupOffset] {
        Dictionary(uniqueKeysWithValues: offsets.map { (Place($0.key), $0.value) })
    }

    // MARK: - The inputs

    /// The most records of a partition in a row. Few, so that a batch has several runs of one partition, like librdkafka's batches.
    private static let longestRun = 2

    private func readCommands(max: Int) throws(LogError) -> PollResult {
        if let damage = nextDamage() { return damage }
        var commands: [CommandRecord] = []
        var ends: [InputPosition] = []
        lentRecords = []
        var before: Int
        repeat {
            before = commands.count
            for topic in InputTopic.allCases {
                for partition in 0..<cluster.count(of: topic.topic) {
                    let place = Place(topic: topic.topic, partition: partition)
                    guard let position = try readablePosition(in: place) else { continue }
                    let room = min(Self.longestRun, max - commands.count)
                    let span = readInput(place, from: position, max: room)
                    positions[place] = span.next
                    commands += span.records.compactMap { offset, record in
                        flaws.read(place, offset, record).map { lend($0, as: topic, partition, offset) }
                    }
                    if span.next == cluster[place].lastStableOffset, reportedEnds[place] != span.next, flaw != .markersNotPassed {
                        reportedEnds[place] = span.next
                        ends.append(InputPosition(topic: topic, partition: partition, offset: span.next))
                    }
                }
            }
        } while commands.count > before && commands.count < max
        if !commands.isEmpty {
            point = .polled
            trace?("poll: " + commands.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " "))
        }
        return .records(commands, ends: ends)
    }

    private func readInput(_ place: Place, from offset: Offset, max: Int = .max) -> SimulatedPartition.Span {
        cluster[place].read(flaws.isolation(.committed), from: offset, max: max, ignoringDamage: flaw == .damagedRecordTaken)
    }

    /// Where reading continues; nil if the partition is not read, or cannot be read for now.
    private func readablePosition(in place: Place) throws(LogError) -> Offset? {
        guard let position = positions[place], !cluster[place].isLeaderless else { return nil }
        let log = cluster[place]
        if position > log.end, flaw == .truncationNotNoticed { return nil }
        guard position >= log.start, position <= log.end else {
            throw LogError(.startOver, "\(place): offset \(position) is out of range")
        }
        return position
    }

    /// A damaged record at an input's position. It is reported once.
    private func nextDamage() -> PollResult? {
        for (place, position) in positions.sorted(by: { $0.key < $1.key }) where !cluster[place].damaged.isEmpty {
            let span = readInput(place, from: position, max: 1)
            guard let offset = span.damage, span.records.isEmpty else { continue }
            positions[place] = nil
            trace?("poll: \(place)@\(offset) is damaged")
            let topic = place.topic == .orders ? InputTopic.orders : .restocks
            return .damaged(InputPosition(topic: topic, partition: place.partition, offset: offset), "its checksum is wrong")
        }
        return nil
    }

    private func lend<Source>(
        _ record: SimulatedPartition.Record, as topic: Source, _ partition: Int32, _ offset: Offset
    ) -> LogRecord<Source> {
        // A batch of commands stays valid while changelogs are read.
        let isChange = topic is ChangelogTopic
        if isChange { lentChanges.append(record) } else { lentRecords.append(record) }
        return LogRecord(
            topic: topic, partition: partition, offset: offset,
            // Without a timestamp, the age of a command depends on the reader's clock alone.
            timestamp: flaw == .windowByReadersClock && topic is InputTopic ? nil : record.visibleTimestamp, key: record.key?.view,
            value: record.value?.view, index: (isChange ? lentChanges : lentRecords).count - 1)
    }

    func headers(of record: CommandRecord) -> [MessageHeader]? {
        let headers = lentRecords[record.index].headers
        return headers.count > 100_000 ? nil : headers
    }

    func headers(of record: ChangelogBatch.Record) -> [MessageHeader]? {
        flaw == .sentTimeNotRestored ? [] : lentChanges[record.index].headers
    }

    func start(at positions: [InputPosition]) throws(LogError) {
        try call(.start) { () throws(LogError) in
            (reportedEnds, changelog) = ([:], [:])
            if flaw == .notRewound, !self.positions.isEmpty, !positions.isEmpty { return }
            self.positions = flaws.started(at: Dictionary(uniqueKeysWithValues: positions.map { (Place($0.input), $0.offset) }))
        }
    }

    func readBack(_ ranges: [InputPartition: Range<Offset>]) throws(LogError) -> (
        records: [CommandRecord], damaged: Set<InputPartition>
    ) {
        try call(.readBack) { () throws(LogError) in
            var damaged: Set<InputPartition> = []
            var records: [CommandRecord] = []
            lentRecords = []
            for (input, range) in ranges.sorted(by: { $0.key < $1.key }) {
                let place = Place(input)
                if cluster[place].isLeaderless { throw LogError(.retry, "\(input) has no leader") }
                let span = readInput(place, from: range.lowerBound)
                if let damage = span.damage, damage < range.upperBound {
                    damaged.insert(input)
                } else {
                    let found = flaws.readBack(place, range) ?? span.records.filter { $0.offset < range.upperBound }
                    records += found.map { lend($0.record, as: input.topic, input.partition, $0.offset) }
                }
            }
            return (records, damaged)
        }
    }

    // MARK: - Taking over

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        try call(.extents) { () throws(LogError) in
            fencing = []
            point = .measured
            var extents: [PartitionExtents] = []
            var withoutLeader: [Int32: String] = [:]
            for partition in partitions {
                if let place = places(of: partition).first(where: { cluster[$0].isLeaderless }) {
                    withoutLeader[partition] = "\(place.topic)"
                } else {
                    extents.append(self.extents(of: partition))
                }
            }
            trace?("extents " + extents.map { "results[\($0.partition)] \($0.results) stock \($0.stock)" }.joined(separator: ", "))
            return (extents, withoutLeader)
        }
    }

    func openTransactions(in extents: [PartitionExtents]) throws(LogError) -> [ChangelogPosition] {
        try call(.openTransactions) { () throws(LogError) in
            // An operator's tool waits inside its calls.
            if membership == nil { cluster.now += 10 }
            if flaw == .openTransactionsNotWaitedFor { return [] }
            return extents.flatMap { extents in
                ChangelogTopic.allCases.compactMap { topic in
                    let end = topic == .stock ? extents.stock.upperBound : extents.results.upperBound
                    let stable = cluster[topic.topic, extents.partition].lastStableOffset
                    return stable < end ? ChangelogPosition(topic: topic, partition: extents.partition, offset: stable) : nil
                }
            }
        }
    }

    private func places(of partition: Int32) -> [Place] {
        [.init(topic: .results, partition: partition), .init(topic: .stock, partition: partition)]
            + (assignment?.inputs(of: partition).map(Place.init) ?? [])
    }

    private func extents(of partition: Int32) -> PartitionExtents {
        var inputs: [InputPartition: Range<Offset>] = [:]
        var withNewLeader: Set<InputPartition> = []
        for input in assignment?.inputs(of: partition) ?? [] {
            let place = Place(input)
            inputs[input] = flaws.extent(place)
            // A client may miss a leader change.
            let isLost = seenLosses.updateValue(cluster[place].losses, forKey: place).map { $0 != cluster[place].losses }
            if isLost ?? false, !cluster.isDisorderly(), flaw != .truncationNotNoticed { withNewLeader.insert(input) }
        }
        func place(_ topic: ChangelogTopic) -> Place { Place(topic: topic.topic, partition: partition) }
        let truncated = ChangelogTopic.allCases.filter { written.takeLoss(of: place($0), endingAt: cluster[place($0)].end) }
        return PartitionExtents(
            partition: partition, inputs: inputs, results: flaws.extent(place(.results)), stock: flaws.extent(place(.stock)),
            withNewLeader: withNewLeader, truncated: Set(truncated))
    }

    func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], _ settings: WorkerSettings
    ) throws(LogError) -> [Int32: AnswerReach] {
        try call(.answerReaches) { () throws(LogError) in
            (0..<cluster.partitionCount).reduce(into: [:]) { reaches, partition in
                let results = cluster[.results, partition]
                let own = positions.filter { $0.partition % cluster.partitionCount == partition }
                let unread = own.compactMap { firstUnread(at: $0, settings.times) }.min()
                // The flaw trusts only the reader's clock.
                let isFlawed = flaw == .windowByReadersClock
                let start = AnswerRestoreTime.start(
                    now: now, handledAt: isFlawed ? nil : handledAt[partition], firstUnread: isFlawed ? nil : unread,
                    retention: settings.window.retention)
                let first = flaw == .answersNotReadBack ? nil : results.firstOffset(since: start)
                reaches[partition] = AnswerReach(offset: first ?? results.end, firstUnread: unread)
            }
        }
    }

    /// When the first unread record of an input was sent, committed or not.
    private func firstUnread(at position: InputPosition, _ times: CommandTimes) -> Timestamp? {
        let log = cluster[Place(topic: position.topic.topic, partition: position.partition)]
        return log.read(.uncommitted, from: position.offset, max: 1).records.first.map {
            times.effective($0.record.visibleTimestamp, readAt: now)
        }
    }

    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try call(.openChangelog) { () throws(LogError) in
            self.isolation = isolation
            flaws.opened(positions, isolation)
            trace?("open \(isolation): " + positions.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " "))
            changelog = positions.reduce(into: [:]) { $0[Place(topic: $1.topic.topic, partition: $1.partition)] = $1.offset }
        }
    }

    /// Reads a few records at a time, so that a restore takes several steps.
    func readChangelog() throws(LogError) -> ChangelogBatch {
        try call(.readChangelog) { () throws(LogError) in
            var batch: [ChangelogBatch.Record] = []
            var ends: [ChangelogPosition] = []
            var damages: [ChangelogPosition: String] = [:]
            lentChanges = []
            guard !cluster.isDown else { return ChangelogBatch(records: [], ends: []) }
            point = .journalRead
            for (place, position) in changelog.sorted(by: { $0.key < $1.key }) where !cluster[place].isLeaderless {
                let (log, topic) = (cluster[place], place.topic == .stock ? ChangelogTopic.stock : .results)
                guard position <= log.end else { throw LogError(.startOver, "\(place): offset \(position) is out of range") }
                let isolation = flaws.isolation(isolation)
                let span = log.read(isolation, from: position, max: longestRead)
                changelog[place] = span.next
                for (offset, record) in flaws.restored(span.records, of: place, upTo: span.next) {
                    batch.append(lend(record, as: topic, place.partition, offset))
                }
                if span.damage != nil {
                    damages[.init(topic: topic, partition: place.partition, offset: span.next)] = "its checksum is wrong"
                    changelog[place] = nil
                } else if span.next == (isolation == .committed ? log.lastStableOffset : log.end) {
                    let end = flaws.end(of: place, at: span.next, isolation: self.isolation)
                    ends.append(.init(topic: topic, partition: place.partition, offset: end))
                }
            }
            trace?("read " + changelog.map { "\($0)..<\($1)" }.sorted().joined(separator: " "))
            // Nothing else advances the clock while an operator's tool waits, so without this it would wait for ever.
            if membership == nil, batch.isEmpty { cluster.now += 10 }
            return ChangelogBatch(records: batch, ends: ends, damages: damages)
        }
    }

    // MARK: - Transactions

    /// How many sets of ids a worker has, used in turn.
    static let setCount = 8

    private func id(_ index: Int) -> String { "group-\(group)/\(member)/0/\(set)/\(["a", "b"][index])" }

    func initTransactions() throws(LogError) -> [String] {
        do throws(LogError) {
            let ids = try call(.initTransactions) { () throws(LogError) in try takeOverNextSet() }
            isInitialising = false
            return ids
        } catch {
            // After anything but a retry, the next call uses the next set.
            if error.remedy != .retry { isInitialising = false }
            throw error
        }
    }

    private func takeOverNextSet() throws(LogError) -> [String] {
        if !isInitialising {
            drop()
            set = (set + 1) % Self.setCount
            producers = (0..<2).map { SimulatedProducer(id($0), on: cluster, written: written, flaw: flaw) }
            isInitialising = true
        }
        for (index, producer) in producers.enumerated() where producer.epoch == nil {
            if flaw == .secondIDInitialisedLate, index > 0 { continue }
            try takeOver(producer)
            cluster.interlude()
        }
        point = .initialised
        // The next turn is the first producer's.
        turn = 1
        return producers.map(\.id)
    }

    private func takeOver(_ producer: SimulatedProducer) throws(LogError) {
        let number = producer.number
        guard cluster.transactions[number].takeOver() == .done else {
            // If an id stays undecided for long, the worker goes on to another set.
            if cluster.isDisorderly() { isInitialising = false }
            throw LogError(.retry, "markers of \(producer.id) are not written yet")
        }
        producer.epoch = cluster.transactions[number].epoch
        cluster.keepLate("takeover", of: number) { $0.transactions[number].takeOver() }
    }

    func fence(_ ids: Set<String>) throws(LogError) -> Set<String> {
        if flaw == .fenceLeftOut { return [] }
        if flaw == .fenceAfterClaim {
            flaws.postponedFences.formUnion(ids)
            return []
        }
        do throws(LogError) {
            return try call(.fence) { () throws(LogError) in try takeOver(ids) }
        } catch {
            if flaw == .failedFenceIgnored { return [] }
            throw error
        }
    }

    private func takeOver(_ ids: Set<String>) throws(LogError) -> Set<String> {
        if fencing != ids { (fencing, fenced) = (ids, []) }
        var undecided: Set<String> = []
        for id in ids.sorted() where !fenced.contains(id) {
            if !fenced.isEmpty, cluster.isDisorderly() {
                point = .betweenFences
                throw LogError(.retry, "not all ids are taken over yet")
            }
            let number = cluster.number(of: id)
            if cluster.transactions[number].takeOver() == .done {
                fenced.insert(id)
            } else if cluster.transactions[number].places.contains(where: { cluster[$0].isLeaderless }) {
                undecided.insert(id)
            } else {
                throw LogError(.retry, "markers of \(id) are not written yet")
            }
            cluster.interlude()
        }
        fencing = []
        point = .fenced
        trace?("fence \(ids.sorted().joined(separator: " "))" + (undecided.isEmpty ? "" : " but \(undecided.sorted())"))
        return undecided
    }

    func begin() throws(LogError) {
        try call(.begin) { () throws(LogError) in
            guard !producers.isEmpty else { throw LogError(.startOver, "no producer") }
            // Producers take turns, unless the next one cannot begin at once.
            turn = [1 - turn, turn].first { producers[$0].isReady } ?? 1 - turn
            if producers[turn].epoch == nil { try takeOver(producers[turn]) }
            producers[turn].begin()
            written.begin()
            (isClaiming, writtenAt) = (false, nil)
            flaws.began()
        }
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        try call(.produce) { () throws(LogError) in
            var record = record
            if let original = record.original { record.headers = lentRecords[original].headers + record.headers }
            let time = (writtenAt ?? cluster.now) + now - cluster.now
            writtenAt = writtenAt ?? cluster.now
            if let error = refusal(record) ?? refusalOfTopic(record) {
                if flaw == .refusedRecordSkipped, case .record = error.subject { return }
                throw error
            }
            if record.key == nil, record.value?.starts(with: Self.claimBeginning) ?? false { isClaiming = true }
            point = isClaiming ? .claimProduced : .midTransaction
            trace?("produce \(record.topic)[\(record.partition)] " + Clients.text(record.value.map { Array($0) }, 160))
            guard !losesDelivery else {
                losesDelivery = false
                return producers[turn].loseRecord()
            }
            let place = cluster.place(of: record)
            if let written = flaws.written(record, at: place, time) { try producers[turn].produce(written, to: place) }
        }
    }

    private func refusalOfTopic(_ record: OutputRecord) -> LogError? {
        let (topic, partition) = (record.topic, record.partition)
        guard cluster.takes(record.timestamp ?? now, in: topic) else {
            return LogError(.startOver, "\(topic) refuses the time", subject: .time(topic, partition: partition))
        }
        let size = record.headers.reduce((record.key?.count ?? 0) + (record.value?.count ?? 0)) {
            $0 + $1.name.utf8.count + ($1.value?.count ?? 0)
        }
        guard let refusing = cluster.refusing, refusing.topic == record.topic, size > refusing.limit else { return nil }
        return LogError(
            .startOver, "\(record.topic) refuses \(size) bytes", subject: .record(record.topic, partition: record.partition))
    }

    private static var claimBeginning: [UInt8] { Array(#"{"type":"claim""#.utf8) }

    func flush() throws(LogError) {
        try call(.flush) { () throws(LogError) in
            if flaw == .notesAndForwardsInOneFlush { return }
            try producers[turn].flush()
            point = .flushed
        }
    }

    func commit() throws(LogError) -> [Int32: [Range<Offset>]] {
        try call(.commit) { () throws(LogError) in
            for (record, place) in flaws.held() { try producers[turn].produce(record, to: place) }
            try flaws.committing(producers[turn], isClaim: isClaiming)?.commit()
            point = isClaiming ? .claimCommitted : .committed
        }
        if isClaiming { flaws.claimed() }
        return written.results
    }
}

extension SimulatedCluster {
    /// Dead letters may have fewer partitions than the commands.
    func place(of record: OutputRecord) -> Place {
        let isLetter = record.topic == .deadLetters
        return Place(topic: record.topic, partition: isLetter ? record.partition % count(of: record.topic) : record.partition)
    }
}
