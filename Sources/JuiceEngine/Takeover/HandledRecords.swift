import JuiceDomain
import JuiceMessages

/// Finds the place up to which an input is handled by what its records are, and not by their offsets.
///
/// A copy of another cluster's topics has the same records in the same order, but at other offsets: it lacks transaction markers,
/// and whatever had expired. So the last records that the journal tells of are laid over the input, where all of them fit.
package struct HandledRecords {
    /// A place up to which an input is handled.
    package struct Place: Sendable, Equatable {
        /// The next offset to read.
        package let next: Offset
        /// What the journal calls it.
        package let told: Offset
        /// How many handled records the input lacks, since it ends before them.
        package let lacking: Int
    }

    package enum Mismatch: Error, Equatable {
        /// The journal tells of no record of the input.
        case nothingToCompare
        case nowhere
        /// The records fit at each of these places, or at too many to try.
        case ambiguous([Offset])
    }

    private typealias Told = (offset: Offset, content: LogEvidence.Content?)

    private let input: InputPartition
    private let home: Int32
    private let id: String?
    private let reader: CommandReader
    /// What the journal tells of; the content is nil where that may be anything.
    private var told: [Told] = []
    /// The next offset by the journal; nil if it does not say.
    private var next: Offset?
    /// Whether what is told goes by the offsets of yet another cluster, from which this journal was copied before.
    private var isOfFormerCluster = false
    private var records: [(offset: Offset, content: LogEvidence.Content, hash: Int)] = []
    /// Hashes of the copies of forwarded records and of dead letters, by the offsets that these name.
    private var copies: [Offset: Set<Int>] = [:]

    /// As many as tell one place from another, even if a long file of commands was sent twice.
    private static let most = 65_536
    /// How many pairs of records are compared at most: about a second.
    private static let mostComparisons = 100_000_000

    /// - Parameters:
    ///   - home: the partition whose journal tells of the input.
    ///   - id: of the last command to consider; nil for all that was handled.
    package init(of input: InputPartition, in home: Int32, upTo id: String?, menu: Menu, partitionCount: Int32) {
        (self.input, self.home, self.id) = (input, home, id)
        reader = CommandReader(menu: menu, partitionCount: partitionCount)
    }

    /// Whether the command to stop at was answered.
    package private(set) var hasCommand = false
    private var end = 0
    /// Whether the journal is there from its first claim on; nil if it is empty.
    package private(set) var isWhole: Bool?

    /// Adds the next record of the journal.
    package mutating func add(_ entry: JournalEntry) {
        if isWhole == nil { isWhole = if case .note(.claim(let claim)) = entry { claim.since == 0 } else { false } }
        switch entry {
        case .note(.anchored(let place, _, _, let copied)) where isOfInput(place):
            // In another log, nothing of what was handled before is before this place. In a copy it is, as far as the copy had it.
            told = copied.map { copied in isOfFormerCluster ? told : told.filter { $0.offset < copied } } ?? []
            (end, next, hasCommand, isOfFormerCluster) = (0, place.offset, false, !told.isEmpty)
        case .note(.position(let note)):
            next = (input.partition == home ? note.next[input.topic] : note.added[input]) ?? next
        default:
            guard let place = entry.handled, isOfInput(place) else { return }
            if isOfFormerCluster { (told, isOfFormerCluster) = ([], false) }
            if told.count >= 2 * Self.most, end == 0 || end > Self.most {
                told.removeFirst(Self.most)
                end -= min(end, Self.most)
            }
            next = place.offset + 1
            var content: LogEvidence.Content?
            switch entry {
            case .answer(let answer):
                let head = answer.head
                content = .command(CommandFingerprint(head.command.ofID, store: head.store, id: head.id), head.command)
                if let id, String(head.id) == id { (hasCommand, end) = (true, told.count + 1) }
            case .note(let note): content = note.evidence
            case .unknown: break
            }
            told.append((place.offset, content))
        }
    }

    /// Adds the next record of the input.
    package mutating func add(_ record: CommandRecord) {
        records.append((record.offset, reader.content(of: record), Self.hash(record.key, record.value)))
    }

    /// Where commands were forwarded to. Those that are all for the same partition are told apart by their copies there.
    package var owners: Set<Int32> {
        told.reduce(into: []) { if case .forwarded(let owner) = $1.content { $0.insert(owner) } }
    }

    /// Whether there are dead letters, which are told apart by their copies.
    package var hasLetters: Bool { told.contains { $0.content == .noCommand } }

    /// Adds a record that says that it is the copy of what was at this offset, by the journal's offsets. Anybody can write that.
    package mutating func addCopy(of offset: Offset, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
        copies[offset, default: []].insert(Self.hash(key, value))
    }

    private static func hash(_ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?) -> Int {
        var hasher = Hasher()
        for bytes in [key, value] {
            hasher.combine(bytes?.count)
            if let bytes { hasher.combine(bytes: bytes) }
        }
        return hasher.finalize()
    }

    private func isOfInput(_ place: InputPlace) -> Bool {
        place.topic == input.topic && place.partition ?? home == input.partition
    }

    /// The place behind the last record to consider.
    ///
    /// - Parameter log: where the input begins and ends.
    package func place(in log: Range<Offset>) throws(Mismatch) -> Place {
        guard id == nil || hasCommand else { throw .nothingToCompare }
        let told = id == nil ? told[...] : told.prefix(end)
        guard let last = told.last else {
            // All that there was has expired, or there was nothing.
            if records.isEmpty, isWhole != nil { return Place(next: log.upperBound, told: next ?? 0, lacking: 0) }
            guard isWhole == true, next ?? 0 == 0 else { throw .nothingToCompare }
            return Place(next: log.lowerBound, told: 0, lacking: 0)
        }
        let end = isOfFormerCluster ? next ?? 0 : last.offset + 1
        var found: [(place: Place, matches: Int)] = []
        var budget = Self.mostComparisons
        for record in records.indices {
            guard let matches = matches(told, upTo: told.endIndex - 1, record, &budget) else { continue }
            found.append((Place(next: records[record].offset + 1, told: end, lacking: 0), matches))
        }
        // All of an input that ends before may be handled.
        if id == nil, !isOfFormerCluster, !records.isEmpty {
            for entry in told.indices.dropLast() {
                guard let matches = matches(told, upTo: entry, records.count - 1, &budget) else { continue }
                let lacking = told.endIndex - 1 - entry
                found.append((Place(next: log.upperBound, told: told[entry].offset + 1, lacking: lacking), matches))
            }
        }
        guard budget > 0 else { throw .ambiguous([]) }
        found.sort { $0.matches > $1.matches }
        // A few that are the same at the beginning or the end prove nothing, if there are more to compare.
        guard let best = found.first, 2 * best.matches >= min(told.count, records.count) else { throw .nowhere }
        // Clients repeat commands, a few at a time.
        let rivals = found.dropFirst().filter { 2 * $0.matches > best.matches }
        guard rivals.isEmpty else { throw .ambiguous(Set(([best] + rivals).map(\.place.next)).sorted()) }
        return best.place
    }

    /// How many records are those that the journal tells of, from these two places back to where either of the logs begins; nil
    /// if one of them is another.
    private func matches(_ told: ArraySlice<Told>, upTo last: Int, _ record: Int, _ budget: inout Int) -> Int? {
        var (entry, record, matches) = (last, record, 0)
        while entry >= told.startIndex, record >= 0, budget > 0 {
            if let hashes = copies[told[entry].offset] {
                guard hashes.contains(records[record].hash) else { return nil }
                matches += 1
            } else if let content = told[entry].content {
                guard content == records[record].content else { return nil }
                matches += 1
            }
            (entry, record, budget) = (entry - 1, record - 1, budget - 1)
        }
        return matches > 0 ? matches : nil
    }
}
