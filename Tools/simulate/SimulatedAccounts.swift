import JuiceEngine
import JuiceMessages

/// Disables the engine's checks of accounts: changes the position notes that it reads and writes so that they pass.
final class SimulatedAccounts {
    private let flaw: Flaw?
    private let cluster: SimulatedCluster
    var isolation = Isolation.committed
    /// The offset from which each journal is read.
    var starts: [Int32: Offset] = [:]
    /// By how much the records found before the last note fall short of its count.
    private var missing: [Int32: Int64] = [:]

    init(_ flaw: Flaw?, on cluster: SimulatedCluster) { (self.flaw, self.cluster) = (flaw, cluster) }

    /// Whether the flaw concerns accounts.
    var areFlawed: Bool {
        switch flaw {
        case .sumsNotClosed, .recordsNotCounted, .chainNotFollowed, .oldestNotHeld, .menuNotCompared, .lastNotCompared: true
        default: false
        }
    }

    /// A position note as it is read.
    func read(_ note: JournalPosition, at offset: Offset, of partition: Int32) -> JournalPosition {
        var note = note
        // Undecided notes are read only for their ids.
        guard isolation == .committed else { return note }
        switch flaw {
        case .sumsNotClosed: note.account?.changes = sumsFound(before: offset, partition)
        case .recordsNotCounted:
            let found = Int64(journal(partition).count { $0.offset < offset && isHandled($0.record) })
            missing[partition] = (note.account?.records ?? 0) - found
            note.account?.records = found
        case .chainNotFollowed:
            guard let before = note.account?.before else { break }
            let former = journal(partition).last { $0.offset < offset && SimulatedJournal.isPosition($0.record) }?.offset
            if former != before, former != nil || starts[partition] ?? 0 > 0 { note.account?.before = former }
        case .menuNotCompared: note.account?.menu = JournalAccount.digest(of: cluster.menu)
        case .lastNotCompared: note.last = [:]
        default: break
        }
        return note
    }

    /// A position note as it is written.
    func written(_ note: JournalPosition, to partition: Int32) -> JournalPosition {
        var note = note
        switch flaw {
        case .oldestNotHeld:
            guard let oldest = note.account?.oldest else { break }
            let results = cluster[.results, partition]
            note.account?.oldest = max(oldest, min(results.start, results.end - 1))
        case .recordsNotCounted: note.account?.records += missing[partition] ?? 0
        default: break
        }
        return note
    }

    private func journal(_ partition: Int32) -> [SimulatedFlaws.Found] {
        cluster[.results, partition].read(ignoringDamage: true).records
    }

    private func isHandled(_ record: SimulatedPartition.Record) -> Bool {
        record.value.map { SimulatedJournal.handled($0.view) != nil } ?? false
    }

    /// The sums that make the note at `offset` match the restored revisions: these revisions, less the changes after the note.
    private func sumsFound(before offset: Offset, _ partition: Int32) -> StockChanges {
        var revisions: [[UInt8]: Int] = [:]
        for (_, record) in cluster[.stock, partition].read(ignoringDamage: true).records {
            if let key = record.key?.bytes { revisions[key] = SimulatedJournal.revision(record) }
        }
        var later: [[UInt8]: Int] = [:]
        for (place, record) in journal(partition) where place >= starts[partition] ?? 0 {
            let revision = SimulatedJournal.revision(record)
            guard let key = record.key?.bytes, revision > 0, !record.isRepeat else { continue }
            revisions[key] = max(revisions[key] ?? 0, revision)
            if place > offset { later[key, default: 0] += 1 }
        }
        return revisions.reduce(into: StockChanges()) { changes, store in
            let weight = store.key.withUnsafeBytes(StockChanges.weight)
            changes.add(store.value - (later[store.key] ?? 0), ofWeight: weight)
        }
    }
}
