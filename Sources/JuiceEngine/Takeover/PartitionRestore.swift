import JuiceDomain
import JuiceMessages

/// Rebuilds the state of one partition: first from the stock, then from what the journal says beyond it.
///
/// The stock topic may lag behind the journal, so changes that it lacks are taken from the answers. A change that both lack is a
/// fault: one of the topics was recreated or has lost records.
struct PartitionRestore {
    let extents: PartitionExtents
    private let assignment: InputAssignment
    private let initial: FruitStore
    private let settings: WorkerSettings
    private(set) var applied: StateStore
    /// The last revision of each store in an answer, by the store's index; 0 if none was read.
    private var answeredRevisions: [Int] = []
    /// The first fault, unless an operator has accepted it with an anchor.
    private var fault: PartitionFault?
    /// The unreadable stock records, by key. A later readable record of the same store removes its entry.
    private var badStock: [[UInt8]: (offset: Offset, reason: String)] = [:]
    /// Whether the journal has anything but claims.
    private var hasRecords = false
    /// Whether an operator has moved a position.
    private var isAnchored = false
    /// Whether both the stock and the answers that were read lack some changes.
    private var lacksStock = false
    /// Whether to read the whole journal, because a shorter part did not add up.
    let readsAll: Bool
    /// Set if the topics were copied from another cluster, where offsets differ. Then only the stock is compared with the answers.
    private(set) var copies: CopiedInputs?
    private var isCopy: Bool { copies != nil }
    /// The group's committed offsets: for inputs that the journal does not name, and to see whether the journal lost its end.
    private let groupOffsets: [InputPartition: GroupOffset]
    /// Where the journal is read from, and the first offset whose record must not be missing.
    private var start: Offset = 0
    private(set) var needed: Offset?
    /// The offset of a position note that names the last handled records before it; 0 if none is known.
    private var lastNote: Offset = 0
    /// The journal's first record other than a claim: a claim may have the time of a clock that was behind.
    private var firstTimed: Offset?
    private(set) var owners = JournalOwners()
    private(set) var account: AccountCheck
    /// Whether the owner that wrote the records being read had another menu.
    private var isOfOtherMenu = false
    /// The claim of the last note's writer.
    private var noteClaim: Offset?
    /// Whether the journal ends before what the group has committed.
    private var hasLostEnd = false

    private static let mostReserved: Offset = 1_000_000

    init(
        _ extents: PartitionExtents, assignment: InputAssignment, readsAll: Bool, for purpose: Takeover.Purpose,
        groupOffsets: [InputPartition: GroupOffset], context: WorkerContext
    ) {
        (self.extents, self.assignment, self.groupOffsets, settings) = (extents, assignment, groupOffsets, context.settings)
        self.readsAll = readsAll
        if purpose == .anchor(isCopy: true) {
            copies = CopiedInputs(
                storePartition: extents.partition, window: context.settings.window, reader: context.commandReaders.0)
        }
        account = AccountCheck(extents.results, from: 0, needing: 0)
        initial = FruitStore(menu: context.settings.menu)
        applied = StateStore(
            stores: StoreTable(menu: context.settings.menu), duplicates: context.newMemory,
            progress: JournalProgress(storePartition: extents.partition),
            evidence: InputFingerprints())
        // Growing would copy everything again and again. There are no more stores than records.
        applied.stores.reserveCapacity(Int(min(extents.stock.upperBound - extents.stock.lowerBound, Self.mostReserved)))
    }

    private var partition: Int32 { extents.partition }

    var answerCount: Int { applied.duplicates.count }

    // MARK: - Stock

    /// Applies records of the stock topic.
    mutating func applyStock(_ records: ArraySlice<ChangelogBatch.Record>, by reader: StockRestorer) {
        // Prefetches the next record's store: among a million stores, it is rarely in a cache.
        var ahead = records.first?.key.map(ByteKeyTable.Key.init)
        for index in records.indices {
            let (record, key) = (records[index], ahead)
            if index + 1 < records.endIndex {
                ahead = records[index + 1].key.map(ByteKeyTable.Key.init)
                if let ahead { applied.stores.prefetch(ahead) }
            }
            let reason = applyStock(record, key, by: reader)
            guard reason != nil || !badStock.isEmpty else { continue }
            badStock[record.key.map { Array($0) } ?? []] = reason.map { (record.offset, $0) }
        }
    }

    private mutating func applyStock(
        _ record: ChangelogBatch.Record, _ key: ByteKeyTable.Key?, by reader: StockRestorer
    ) -> String? {
        guard let key else { return "it has no key" }
        let owner = Murmur2.partition(of: key.bytes, count: assignment.partitionCount)
        // A tombstone for a store of another partition is another program's, and changes nothing.
        guard owner == partition || record.value == nil else {
            return "the store \"\(String(BorrowedText(key.bytes)))\" belongs in partition \(owner) of \(assignment.partitionCount)"
        }
        do throws(MalformedMessage) {
            // This service writes no tombstones. After one, only the answers say what the store has.
            guard let value = record.value else {
                if owner == partition { applied.stores.restore(key, initial, revision: 0) }
                return nil
            }
            let restored = try reader.restore(value, key: key.bytes)
            applied.stores.restore(key, restored.levels, revision: restored.revision)
            return nil
        } catch { return error.description }
    }

    // MARK: - Journal

    /// Begins to read the journal, after all of the stock was read, and perhaps again from further back.
    ///
    /// - Parameters:
    ///   - needed: the first offset whose record must not be missing.
    ///   - lastNote: the offset of a position note that is known to exist; 0 if there is none.
    mutating func beginJournal(at start: Offset, needing needed: Offset, lastNote: Offset) {
        if fault == nil, let (offset, reason) = badStock.values.min(by: { $0.offset < $1.offset }) {
            fault = PartitionFault(.stock, at: offset, "stock record at offset \(offset): \(reason)")
        }
        applied.duplicates = DuplicateMemory(window: settings.window, valueLimit: settings.answerBytes)
        applied.progress = JournalProgress(storePartition: partition)
        applied.evidence = InputFingerprints()
        applied.duplicates.forget(before: start)
        (hasRecords, isAnchored, isOfOtherMenu) = (false, false, false)
        (self.start, self.needed, self.lastNote, firstTimed) = (start, needed, lastNote, nil)
        owners = JournalOwners()
        account = AccountCheck(extents.results, from: start, needing: needed)
    }

    mutating func apply(_ record: JournalRecord, by reader: JournalReader) {
        owners.add(record, isCommitted: true)
        copies?.add(record)
        switch record.content {
        case .note(.anchored(let place, _, _, let copied)):
            (hasRecords, isAnchored) = (true, true)
            if copied != nil { applied.progress.forwards.removeAll(place.topic) }
            applied.evidence.removeAll(place.input(in: partition))
        case .note(.position(let note)):
            // The clock of its writer may have been behind.
            check(note, at: record.offset, record.timestamp.map { max($0, applied.progress.newest) })
        default: break
        }
        if let place = record.handled {
            // No record is written before a claim.
            if !hasRecords, start == 0, owners.claims.isEmpty, !isCopy { checkClaim(0, at: 0) }
            (hasRecords, firstTimed) = (true, firstTimed ?? record.offset)
            account.handled()
            if let digest = place.noted { applied.evidence.append(place.input, place.offset, .record(digest)) }
        }
        applied.progress.restore(record, isLatest: record.offset > lastNote)
        if let answer = record.answer { apply(answer, record, by: reader) }
    }

    private mutating func apply(_ answer: JournalAnswer, _ record: JournalRecord, by reader: JournalReader) {
        let head = answer.head
        let command = CommandFingerprint(head.command.ofID, store: head.store, id: head.id)
        if let source = head.from { applied.progress.forwards.append(command, from: source.position(in: head.command.inputTopic)) }
        let input = InputPartition(topic: head.command.inputTopic, partition: partition)
        applied.evidence.append(input, head.offset, .command(command, head.command))
        if answer.revision > 0, !head.isDuplicate {
            if record.offset >= needed ?? 0 {
                applyChange(answer, record, by: reader)
            } else {
                // The stock already has all earlier changes.
                account.changed(storeOfWeight: StockChanges.weight(of: head.store.bytes))
            }
        }
        guard let remembered = answer.remembered else { return }
        // Otherwise, repeats of one lost answer could fill the memory.
        if answer.role == .lost {
            applied.duplicates.finishRestore()
            if applied.duplicates.remembers(remembered) { return }
        }
        applied.duplicates.restore(
            remembered, answer.given(record.value), at: record.offset, was: answer.was,
            sentAt: record.sent ?? record.timestamp ?? 0)
    }

    /// Applies an answer's change, if the stock topic lacks it.
    private mutating func applyChange(_ answer: JournalAnswer, _ record: JournalRecord, by reader: JournalReader) {
        let store = applied.stores.insert(ByteKeyTable.Key(answer.head.store.bytes))
        account.changed(storeOfWeight: applied.stores.weight(at: store))
        let stock = applied.stores.revision(at: store)
        while answeredRevisions.count <= store { answeredRevisions.append(0) }
        answeredRevisions[store] = answer.revision
        guard answer.revision > stock else { return }
        if answer.revision > stock + 1 {
            lacksStock = true
            found(
                .stock, at: record.offset,
                "store \"\(String(answer.head.store))\" has revision \(stock) in the stock topic, but the answer at"
                    + " offset \(record.offset) of the results has revision \(answer.revision), and those between are gone",
                missing: Int64(answer.revision - stock - 1))
        }
        if stock == 0, isOfOtherMenu {
            found(
                .stock, at: record.offset,
                "the stock topic lacks store \"\(String(answer.head.store))\", which was changed first while the service had another"
                    + " menu: start the service with that menu once, or write the stock", missing: 1)
        }
        // If the operator accepts the fault, this is the best that is known.
        applied.stores.restore(at: store, revision: answer.revision) { reader.forEachLevel($0) }
    }

    private mutating func check(_ note: JournalPosition, at offset: Offset, _ time: Timestamp?) {
        (hasRecords, noteClaim, firstTimed) = (true, note.claim, firstTimed ?? offset)
        if !isCopy { checkClaim(note.claim, at: offset) }
        applied.progress.forwards.restore(note.forwarded, at: offset)
        let gap = account.add(note, at: offset, time)
        if let gap, !isCopy { found(.journal, at: offset, "results [\(partition)]: \(gap.reason)", missing: gap.missing) }
        guard let account = note.account else { return }
        isOfOtherMenu = account.menu != settings.menuDigest
        // An operator has accepted whatever was wrong before.
        if account.before == nil, isAnchored { (fault, answeredRevisions, lacksStock) = (nil, [], false) }
    }

    /// A writer's claim is in the same log as its other records. If the claim is gone, so are records that followed it.
    private mutating func checkClaim(_ claim: Offset, at offset: Offset) {
        guard claim >= start, owners.claims[claim] == nil else { return }
        found(
            .journal, at: offset,
            "the results were recreated, or lost their end, under a running service: the claim at offset \(claim) of who wrote"
                + " the record at \(offset) is gone")
    }

    private mutating func found(_ kind: PartitionFault.Kind, at offset: Offset? = nil, _ reason: String, missing: Int64 = 0) {
        // Further faults of the same kind follow from the first, unless only they say how much is missing.
        guard let former = fault, former.kind != kind || former.missing == 0 && missing > 0 else {
            return fault = fault ?? PartitionFault(kind, at: offset, reason, missing: missing)
        }
        fault = PartitionFault(
            former.kind, at: former.offset, "\(former.reason); \(reason)", missing: former.missing + missing)
    }

    // MARK: - The end

    /// Whether reading the whole journal may complete the stock, or show how much is missing in all.
    var needsAll: Bool {
        !readsAll && (fault?.kind == .stock ? lacksStock : fault?.kind == .journal && start > extents.results.lowerBound)
    }

    /// Closes the account: compares what was read with what must be there.
    ///
    /// - Parameter reach: how far back repeats may ask for answers; nil if that makes no difference.
    mutating func close(_ reach: AnswerReach?) {
        if isCopy { return closeStock() }
        let results = extents.results
        if account.last == nil, results.lowerBound > 0 {
            found(
                .journal, at: results.lowerBound,
                "results [\(partition)] begin at offset \(results.lowerBound) without a position note: commands may be carried out twice",
                missing: results.lowerBound)
        } else if account.last?.offset ?? 0 < lastNote {
            found(.journal, at: lastNote, "results [\(partition)]: the position note at offset \(lastNote) is gone", missing: 1)
        }
        let first = firstTimed ?? results.upperBound
        if let reach, !account.reachesBack(from: first, reach, retention: settings.window.retention) {
            let oldest = account.last?.account.oldest ?? 0
            found(
                .answers, at: results.lowerBound,
                "results [\(partition)] begin at offset \(results.lowerBound), but repeats may still ask for answers from offset"
                    + " \(oldest) on: \(results.lowerBound - oldest) offsets were deleted too early: commands may run twice",
                missing: results.lowerBound - oldest)
        }
        closeEnd()
        closeStock()
    }

    /// Compares with the record count that the last owner committed for its group; without a position note, with any owner's.
    private mutating func closeEnd() {
        let owners = [noteClaim, owners.claims.keys.max()]
        let marks = groupOffsets.values.compactMap(\.mark).filter { account.last == nil || owners.contains($0.claim) }
        guard account.last != nil || start == 0, let records = marks.map(\.records).max() else { return }
        let missing = records - applied.progress.records
        guard missing > 0 else { return }
        hasLostEnd = true
        let fault = PartitionFault.lostEnd(of: extents, missing: missing)
        found(fault.kind, at: fault.offset, fault.reason, missing: missing)
    }

    /// Stock is written after its answers, so it cannot be ahead of a complete journal.
    private mutating func closeStock() {
        for (store, answered) in answeredRevisions.enumerated() where answered > 0 && answered < applied.stores.revision(at: store)
        {
            found(
                .journal,
                "store \"\(applied.stores.name(at: store))\" has revision \(applied.stores.revision(at: store)) in the stock"
                    + " topic, but its last answer has revision \(answered): the results have lost their end, or another program"
                    + " wrote",
                missing: Int64(applied.stores.revision(at: store) - answered))
        }
        guard let expected = account.changes, expected != applied.stores.changes else { return }
        let (answered, found) = (expected.count, applied.stores.changes.count)
        if found < answered {
            lacksStock = true
            let reason = "stock [\(partition)]: \(found) of \(answered) changes are there"
            guard let former = fault, former.kind == .stock else {
                return self.found(.stock, reason, missing: answered - found)
            }
            fault = PartitionFault(.stock, at: former.offset, "\(reason): \(former.reason)", missing: answered - found)
        } else {
            self.found(
                .journal,
                "stock [\(partition)] has \(found) changes, but the results have \(answered): the results have lost records, or"
                    + " another program wrote to the stock", missing: max(1, found - answered))
        }
    }

    /// The state and its fault, once the journal was read up to this worker's claim and the account was closed. Only an operator
    /// may go on with a state that has a fault.
    consuming func finish(claim: Offset, ids: [String]) -> (state: PartitionState, fault: PartitionFault?) {
        applied.duplicates.finishRestore()
        let inputs = assignment.inputs(of: partition)
        // Without an intact journal, nothing shows where to go on with any input.
        let anchored = [.journal, .answers].contains(fault?.kind) ? inputs : Array(inputs.prefix(1))
        var fault = fault
        fault?.anchors = anchored.map(anchor)
        for input in inputs where applied.progress.positions[input] == nil {
            let position = firstPosition(of: input)
            if position == nil, fault == nil {
                let reason = "\(input.text): neither the results nor the group say how far it was read, but there is stock"
                fault = PartitionFault(.input(input), reason, anchors: [anchor(of: input)])
            }
            applied.progress.positions[input] = position
        }
        applied.evidence.append(applied.progress.last)
        let state = PartitionState(applied, claim: claim, ids: ids, lastNote: account.last?.offset, extents)
        return (state, fault)
    }

    /// The account that an anchor begins: it accepts what is there.
    var acceptedAccount: JournalAccount {
        // Answers after the last note are no older than the note.
        let oldest = isCopy ? 0 : account.last.map { $0.account.oldest ?? $0.offset } ?? 0
        return JournalAccount(
            before: nil, records: applied.progress.records, changes: applied.stores.changes,
            oldest: max(oldest, extents.results.lowerBound), menu: settings.menuDigest)
    }

    /// Where to begin with an input that the journal does not name.
    private func firstPosition(of input: InputPartition) -> Offset? {
        guard let log = extents.inputs[input] else { return 0 }
        // A recreated journal begins with an anchor, perhaps of the other input alone.
        let isWhole = extents.results.lowerBound == 0 && !isAnchored
        if !hasRecords || !isWhole, let committed = groupOffsets[input] { return committed.offset }
        // No record of this input was handled since the journal began, or since the partition was added.
        if isWhole || input.partition >= assignment.partitionCount { return log.lowerBound }
        let mayHaveBeenRead = applied.stores.count > 0 || hasRecords
        return mayHaveBeenRead && !log.isEmpty ? nil : log.lowerBound
    }

    /// The best known place to go on: by the journal, or else by the group, or else the log's end.
    private func anchor(of input: InputPartition) -> InputPosition {
        let log = extents.inputs[input] ?? 0..<0
        let (journalled, committed) = (applied.progress.positions[input], groupOffsets[input]?.offset)
        let known = hasLostEnd ? [journalled, committed].compactMap(\.self).max() : journalled ?? committed
        return InputPosition(input, min(max(known ?? log.upperBound, log.lowerBound), log.upperBound))
    }
}
