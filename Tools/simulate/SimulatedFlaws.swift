import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages

/// Breaks the engine under test from outside: makes an intact engine query, read and write the log as an engine with a flaw would.
final class SimulatedFlaws {
    typealias Record = SimulatedPartition.Record
    typealias Found = (offset: Offset, record: Record)

    let flaw: Flaw?
    private let cluster: SimulatedCluster
    /// Ids to fence after the claim.
    var postponedFences: Set<String> = []
    /// The assigned partitions by topic.
    private var given: [[Int32]] = [[], []]
    /// Whether the next command is dropped.
    private var dropsNext = false
    private var seenEnds: [Place: Offset] = [:]
    /// This worker's last claims.
    private var claims: [Place: (claim: JournalClaim, record: Record)] = [:]
    /// Whether it reads commands, and whether it has since the last assignment.
    private var isServing = false
    private var hasClaimed = false
    /// Whether the journal is being read for claims in between, and where it ended when that began.
    private var isLookingBetween = false
    private var betweenEnds: [Place: Offset] = [:]
    /// Stores that this worker answered for since its claim.
    private var answered: Set<[UInt8]> = []
    /// The results of the open transaction, and its position notes.
    private var heldRecords: [(record: Record, place: Place)] = []
    private var heldNotes: [Place: JournalPosition] = [:]
    private var uncommitted: SimulatedProducer?
    private let accounts: SimulatedAccounts

    init(_ flaw: Flaw?, on cluster: SimulatedCluster) {
        (self.flaw, self.cluster) = (flaw, cluster)
        accounts = SimulatedAccounts(flaw, on: cluster)
    }

    // MARK: - Reading

    func assigned(_ given: [[Int32]]) { (self.given, isServing, hasClaimed, isLookingBetween) = (given, false, false, false) }

    func started(at positions: [Place: Offset]) -> [Place: Offset] {
        isLookingBetween = false
        isServing = !positions.isEmpty
        hasClaimed = hasClaimed || isServing
        dropsNext = flaw == .polledRecordDropped
        guard flaw == .restocksReadAsGiven else { return positions }
        return positions.filter { $0.key.topic != .restocks || given[1].contains($0.key.partition) }
    }

    /// A command as it is read; nil if it is skipped.
    func read(_ place: Place, _ offset: Offset, _ record: Record) -> Record? {
        if dropsNext {
            dropsNext = false
            return nil
        }
        guard flaw == .damagedRecordTaken, cluster[place].damaged.contains(offset) else { return record }
        var bytes = record.value?.bytes ?? []
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if let last = bytes.lastIndex(where: digits.contains) {
            bytes[last] = bytes[last] == digits.upperBound ? digits.lowerBound : bytes[last] + 1
        }
        return record.revised(bytes)
    }

    func extent(_ place: Place) -> Range<Offset> {
        let log = cluster[place]
        if isLookingBetween { betweenEnds[place] = log.end }
        switch flaw {
        case .truncationNotNoticed:
            seenEnds[place] = max(seenEnds[place] ?? 0, log.end)
            return log.start..<(seenEnds[place] ?? 0)
        case .newPartitionsReadFromTheirEnd where place.partition >= cluster.partitionCount:
            let isNew = place.topic != .results && cluster.journal(of: place.partition).positions[place] == nil
            return (isNew ? log.end : log.start)..<log.end
        default: return log.start..<log.end
        }
    }

    /// For a flaw that misses the loss of a log: the commands that were there before.
    func readBack(_ place: Place, _ range: Range<Offset>) -> [Found]? {
        guard flaw == .logSamenessNotChecked || flaw == .truncationNotNoticed, !cluster[place].lost.isEmpty else { return nil }
        var found = cluster[place].lost.filter { range.contains($0.key) }
        for (offset, record) in cluster[place].read(from: range.lowerBound).records where range.contains(offset) {
            found[offset] = found[offset] ?? record
        }
        return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func isolation(_ isolation: Isolation) -> Isolation {
        switch flaw {
        case .abortedRecordsRead: .uncommitted
        case .undecidedClaimsNotRead: .committed
        default: isolation
        }
    }

    /// Notes the positions from which changelogs are read.
    func opened(_ positions: [ChangelogPosition], _ isolation: Isolation) {
        accounts.isolation = isolation
        for position in positions where position.topic == .results { accounts.starts[position.partition] = position.offset }
    }

    /// The offset up to which a changelog counts as read.
    func end(of place: Place, at offset: Offset, isolation: Isolation) -> Offset {
        switch flaw {
        case .undecidedClaimsNotRead where isolation == .uncommitted: cluster[place].end
        case .truncationNotNoticed: max(offset, seenEnds[place] ?? 0)
        default: offset
        }
    }

    // MARK: - Restoring

    /// The ids of all claims and position notes before an offset.
    private func ids(namedBefore offset: Offset, in place: Place) -> [String] {
        cluster[place].read().records.prefix { $0.offset < offset }.flatMap { found -> [String] in
            switch found.record.value.flatMap({ JournalNote($0.view) }) {
            case .claim(let claim): claim.ids
            case .position(let note): note.ids
            default: []
            }
        }
    }

    /// Records of a changelog as they are restored.
    func restored(_ records: [Found], of place: Place, upTo next: Offset) -> [Found] {
        guard flaw != nil else { return records }
        if flaw == .answerOfAnotherCommand, isServing, place.topic == .results {
            return records.map { offset, record in (offset, withRestOfAnother(record, at: offset, of: place)) }
        }
        var restored = records.compactMap { offset, record in
            self.restored(record, at: offset, of: place).map { (offset, $0) }
        }
        // The worker's own claim, as if it were the last record.
        if hasMovedClaim(in: place), let end = betweenEnds[place], next >= end, let own = claims[place] {
            restored.append((end - 1, own.record))
            betweenEnds[place] = nil
        }
        return restored
    }

    private func hasMovedClaim(in place: Place) -> Bool {
        isLookingBetween && place.topic == .results && (flaw == .notClaimedAgain || flaw == .claimedOncePerAssignment && hasClaimed)
    }

    private func restored(_ record: Record, at offset: Offset, of place: Place) -> Record? {
        guard let value = record.value else { return record }
        if flaw == .gapNotNoticed, record.key != nil {
            return withRevision(SimulatedJournal.revision(record) - lostChanges(before: record, in: place.partition), record)
        }
        if flaw == .levelMisread, let level = record.text.firstMatch(of: /"kiwi":(\d+)[,}](?!"missing)/), let kiwis = Int(level.1) {
            return record.revised(
                record.text.replacingCharacters(in: level.1.startIndex..<level.1.endIndex, with: "\(kiwis + 1)").utf8)
        }
        if place.topic == .stock { return flaw == .revisionRepeats ? withRevisionBefore(record) : record }
        if let note = JournalNote(value.view) { return restored(note, record, at: offset, of: place) }
        switch flaw {
        case .cancelReturnsTwice: return returned(by: record).map(\.isEmpty) == false ? asRepeat(record) : record
        case .earlyCancelForgotten: return returned(by: record).map(\.isEmpty) == true ? asRepeat(record) : record
        case .revisionRepeats: return withRevisionBefore(record)
        case .copiesAnsweredTwice: return record.revised(record.text.replacing(/,"from":"[0-9]+\/[0-9]+"/, with: "").utf8)
        case .answersNotAppliedOverStock:
            let stock = cluster[.stock, place.partition].read().records.last { $0.record.key?.bytes == record.key?.bytes }
            return SimulatedJournal.revision(record) > (stock.map { SimulatedJournal.revision($0.record) } ?? 0)
                ? asRepeat(record) : record
        default: return record
        }
    }

    private func restored(_ note: JournalNote, _ record: Record, at offset: Offset, of place: Place) -> Record? {
        switch (flaw, note) {
        case (_, .position(let position)) where accounts.areFlawed:
            return record.revised(JournalNote.position(accounts.read(position, at: offset, of: place.partition)).bytes)
        case (.positionMisread, .position(var position)):
            for topic in InputTopic.allCases {
                let input = Place(topic: topic.topic, partition: place.partition)
                if let next = position.next[topic], cluster[input].end > next { position.next[topic] = next + 1 }
            }
            return record.revised(JournalNote.position(position).bytes)
        case (.copiesAnsweredTwice, .position(var position)):
            position.forwarded = [:]
            return record.revised(JournalNote.position(position).bytes)
        case (.claimWithoutSince, .claim(var claim)):
            claim.since = offset
            claim.fenced = ids(namedBefore: offset, in: place)
            return record.revised(JournalNote.claim(claim).bytes)
        case (.otherGroupNotNoticed, .claim(var claim)):
            claim.group = claims[place]?.claim.group ?? claim.group
            return record.revised(JournalNote.claim(claim).bytes)
        case (.noSecondLook, .claim(let claim)), (.notReadAgain, .claim(let claim)):
            guard isLookingBetween, let own = claims[place]?.claim, offset >= own.since else { return record }
            return claim.ids == own.ids ? record : nil
        case (.notClaimedAgain, .claim(let claim)) where hasMovedClaim(in: place):
            // Only the moved claim counts.
            guard let own = claims[place]?.claim else { return record }
            return offset < own.since && claim.ids != own.ids ? record : nil
        default: return record
        }
    }

    /// Makes an answer one to a repeat, which is neither remembered nor applied.
    private func asRepeat(_ record: Record) -> Record {
        let text = record.text
        guard !record.isRepeat, let head = text.firstRange(of: /,"[a-z]+Id":/) else { return record }
        return record.revised((text[..<head.lowerBound] + #","duplicate":true"# + text[head.lowerBound...]).utf8)
    }

    /// An answer with the contents of the answer before it.
    private func withRestOfAnother(_ record: Record, at offset: Offset, of place: Place) -> Record {
        func cut(_ record: Record) -> (head: Substring, rest: Substring)? {
            let text = record.text
            guard record.key != nil, let head = text.firstRange(of: /,"offset":[0-9]+/) else { return nil }
            return (text[..<head.upperBound], text[head.upperBound...])
        }
        let before = cluster[place].read().records.last { $0.offset < offset && $0.record.key != nil }
        guard let (head, _) = cut(record), let (_, rest) = before.flatMap({ cut($0.record) }) else { return record }
        return record.revised((head + rest).utf8)
    }

    /// The fruits that came back with an answer; nil for one without such fruits.
    private func returned(by record: Record) -> [FruitAmount]? {
        guard case .cancelled(let returned, _) = record.answer?.outcome else { return nil }
        return returned
    }

    private func withRevisionBefore(_ record: Record) -> Record {
        let revision = SimulatedJournal.revision(record)
        return revision > 1 ? withRevision(revision - 1, record) : record
    }

    private func withRevision(_ revision: Int, _ record: Record) -> Record {
        record.revised(record.text.replacing(/"revision":[0-9]+/, with: #""revision":\#(revision)"#).utf8)
    }

    /// How many changes of the record's store the journal has lost, up to the record's revision.
    private func lostChanges(before record: Record, in partition: Int32) -> Int {
        let revision = SimulatedJournal.revision(record)
        return cluster[.results, partition].removed.values.count { lost in
            lost.key?.bytes == record.key?.bytes && 1...max(1, revision) ~= SimulatedJournal.revision(lost)
                && !lost.isRepeat
        }
    }

    // MARK: - Writing

    func began() {
        (heldRecords, heldNotes) = ([], [:])
        guard flaw == .transactionsOverlap, let former = uncommitted else { return }
        uncommitted = nil
        try? former.commit()
    }

    /// A record as it is written; nil if it is left out or held back.
    func written(_ output: OutputRecord, at place: Place, _ time: Timestamp) -> Record? {
        let record = Record(
            key: output.key.map(StableBytes.init), value: output.value.map(StableBytes.init), headers: output.headers,
            timestamp: flaw == .journalTimesOfClock ? time : output.timestamp ?? time)
        guard flaw != nil, let value = record.value?.view else { return record }
        if place.topic == .stock { return flaw == .stockNotRewritten && !answered.contains(record.key?.bytes ?? []) ? nil : record }
        guard place.topic == .results else { return record }
        if let key = record.key { answered.insert(key.bytes) }
        let note = record.key == nil ? JournalNote(value) : nil
        if case .claim(let claim) = note {
            claims[place] = (claim, record)
            return flaw == .claimedOncePerAssignment && hasClaimed ? nil : record
        }
        if accounts.areFlawed, case .position(let position) = note {
            return record.revised(JournalNote.position(accounts.written(position, to: place.partition)).bytes)
        }
        if flaw == .positionsNotedAhead {
            hold(record, note, place)
            return nil
        }
        if flaw == .lostAnswerMisreported, record.text.hasPrefix(#"{"type":"answerLost""#) {
            return record.revised(record.text.replacing(#""was":"made""#, with: #""was":"notMade""#).utf8)
        }
        return flaw == .basketJudgedItemByItem ? madeItemByItem(record, place) ?? record : record
    }

    /// Holds a record back, and makes the position note before it count its command as handled.
    private func hold(_ record: Record, _ note: JournalNote?, _ place: Place) {
        heldRecords.append((record, place))
        if case .position(let position) = note { heldNotes[place] = position }
        guard heldNotes[place] != nil, let (topic, next) = record.value.flatMap({ SimulatedJournal.answered($0.view) }) else {
            return
        }
        heldNotes[place]?.next[topic] = next
    }

    /// The held records, for the end of the transaction.
    func held() -> [(record: Record, place: Place)] {
        defer { (heldRecords, heldNotes) = ([], [:]) }
        return heldRecords.map { record, place in
            guard record.key == nil, let value = record.value, case .position = JournalNote(value.view),
                let position = heldNotes[place]
            else { return (record, place) }
            return (record.revised(JournalNote.position(position).bytes), place)
        }
    }

    /// The producer to commit now, if any.
    func committing(_ producer: SimulatedProducer, isClaim: Bool) throws(LogError) -> SimulatedProducer? {
        guard flaw == .transactionsOverlap, !isClaim, uncommitted == nil else { return producer }
        try producer.flush()
        uncommitted = producer
        return nil
    }

    /// Called when the claims of a transaction are committed.
    func claimed() {
        isLookingBetween = true
        answered = []
        cluster.fenceAtOnce(postponedFences)
        postponedFences = []
        if flaw == .notReadAgain || flaw == .notClaimedAgain {
            for (place, (own, _)) in claims {
                for (_, record) in cluster[place].read(.uncommitted, from: own.since).records {
                    guard let value = record.value, case .claim(let claim) = JournalNote(value.view) else { continue }
                    if claim.ids != own.ids { cluster.fenceAtOnce(Set(claim.ids)) }
                }
            }
        }
    }

    /// The answer to a basket if each of its items alone could be made.
    private func madeItemByItem(_ record: Record, _ place: Place) -> Record? {
        let text = record.text
        guard case .outOfStock(let items, let missing) = record.answer?.outcome, items.count > 1,
            let rest = text.firstRange(of: #","missing""#)
        else { return nil }
        let menu = Menu.standard
        let isEnoughForEach = items.allSatisfy { item in
            let juice = menu.juiceIndex(id: item.juice).map { menu.juices[$0] }
            return juice?.recipe.allSatisfy { ingredient in
                let inStock = missing.first { $0.fruit == menu.fruits[ingredient.fruit].id }?.inStock
                return inStock.map { $0 >= ingredient.amount * item.quantity } ?? true
            } ?? false
        }
        guard isEnoughForEach else { return nil }
        // Levels that would be negative become 0.
        let used = missing.map { #""\#($0.fruit)":\#($0.needed)"# }.joined(separator: ",")
        let left = missing.map { #""\#($0.fruit)":0"# }.joined(separator: ",")
        let last = cluster[place].read(.uncommitted).records.last { $0.record.key?.bytes == record.key?.bytes }
        let revision = 1 + (last.map { SimulatedJournal.revision($0.record) } ?? 0)
        let head = text[..<rest.lowerBound].replacing("outOfStock", with: "juiceMade", maxReplacements: 1)
        return record.revised(
            (head + #","used":{\#(used)},"left":{\#(left)},"revision":\#(revision),"message":"juice made"}"#).utf8)
    }
}

extension SimulatedPartition.Record {
    /// Its answer; nil for another record.
    var answer: Answer? { value.flatMap { try? AnswerDecoder().decode($0.view) } }

    fileprivate func revised(_ value: some Collection<UInt8>) -> Self {
        var record = self
        record.value = StableBytes(value)
        return record
    }
}

extension JournalNote {
    /// The value of its record.
    var bytes: [UInt8] {
        var buffer = OutputBuffer()
        write(into: &buffer)
        return Array(buffer.bytes)
    }
}
