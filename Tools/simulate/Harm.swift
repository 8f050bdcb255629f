import JuiceDomain
import JuiceEngine
import JuiceMessages
import MessageSamples

/// Damage to the topics or the group by another program, a careless operator or a wrong setting, once in some runs.
///
/// A loss in the harmed partition must be noticed: if the owner or its successor cannot restore it, the partition stops, and an
/// operator resumes it. Other partitions never stop, and after ``Kind/strangerInGroup`` none does.
struct Harm {
    enum Kind: CaseIterable {
        /// The results are compacted once. Notes go, since they have no key, and each store keeps only its last answer.
        case compactedResults
        /// The results lose some answers between two position notes, or one after the last note.
        case lostAnswers
        /// Another program writes a tombstone to the stock.
        case tombstone
        /// The same, after all instances restarted with another menu.
        case changedMenu
        /// Another program writes a record to the stock: an old state, an invented one, or rubbish.
        case foreignStock
        /// An input loses some of its last records, handled or not.
        case lostCommands
        /// While no instance runs, an input that was idle for long is recreated, and soon is longer than before.
        case recreatedInput
        /// A consumer that reads only the orders joins the group.
        case strangerInGroup
    }

    let kind: Kind
    let step: Int
    /// The step of its preparation: an input becomes idle, the menu changes, or all handled records become old.
    let prelude: Int
    /// The input to harm.
    let input: InputTopic
    /// Whether all instances crash in the same step, before any of them notices it.
    let isUnattended: Bool
    var random: SeededGenerator

    /// Nil for runs without harm.
    ///
    /// - Parameter kind: the harm to do in any case; nil to draw one.
    init?(_ kind: Kind?, preparing scenario: inout Scenario, using random: inout SeededGenerator) {
        let drawn = random.chance(30) ? random.pick(Kind.allCases) : nil
        guard let kind = kind ?? drawn, let input = random.pick(InputTopic.allCases) else { return nil }
        (self.kind, self.input) = (kind, input)
        step = random.number(scenario.steps / 3...scenario.steps * 9 / 10)
        prelude =
            switch kind {
            case .recreatedInput: random.number(step / 3...step * 2 / 3)
            case .changedMenu: step / 3
            default: random.number(step / 2...step)
            }
        let mayBeAttended = kind != .recreatedInput && kind != .changedMenu
        isUnattended = random.chance(mayBeAttended ? 50 : 100)
        self.random = SeededGenerator(seed: random.next())
        scenario.prepare(for: self)
    }

    /// A menu with a larger initial stock of each fruit.
    static let otherMenu = try? Menu.standard { $0.initialStock + 90 }
}

extension SimulatedStorage {
    /// Whether a restore reads no change of a store.
    private func isIdle(_ store: [UInt8], in results: SimulatedPartition) -> Bool {
        let last = results.read().records.last { $0.record.key?.bytes == store && SimulatedJournal.revision($0.record) > 0 }
        return last?.offset ?? .max < min(notes(in: results).dropLast().last ?? 0, results.end - 40)
    }

    private func notes(in results: SimulatedPartition) -> [Offset] {
        results.read().records.filter { SimulatedJournal.isPosition($0.record) }.map(\.offset)
    }

    /// Whether a record is younger than the windows of most runs.
    private func isRecent(_ record: SimulatedPartition.Record) -> Bool { record.timestamp > cluster.now - 7_000 }

    /// Calls `lose`, and keeps the commands whose recent answers it removed.
    private mutating func noteLoss(from partition: Int32, _ lose: (SimulatedPartition) -> Void) {
        let results = cluster[.results, partition]
        lose(results)
        for (_, record) in results.removed.sorted(by: { $0.key < $1.key }) where isRecent(record) {
            guard let (topic, next) = record.value.flatMap({ SimulatedJournal.answered($0.view) }) else { continue }
            let place = Place(topic: topic.topic, partition: partition)
            for (_, command) in cluster[place].read(from: next - 1, max: 1).records { unanswered.append((place, command)) }
        }
    }

    /// Carries out a harm.
    ///
    /// - Returns: what happened, for the trace; nil if there is nothing to harm yet.
    mutating func strike(_ harm: inout Harm) -> String? {
        // One of the longer journals.
        let ends = (0..<cluster.partitionCount).map { cluster[.results, $0].end }
        let most = ends.max() ?? 0
        let partition = Int32(harm.random.pick(ends.indices.filter { 2 * ends[$0] >= most }) ?? 0)
        let (results, stock) = (cluster[.results, partition], cluster[.stock, partition])
        switch harm.kind {
        case .compactedResults:
            // Compaction would empty a journal of notes alone. It would pass for a new one if the group has no offsets either.
            guard let last = notes(in: results).last,
                results.read().records.contains(where: { $0.record.key != nil && $0.offset < last })
            else { return nil }
            wound(partition)
            let end = harm.random.chance(50) ? results.lastStableOffset : last
            noteLoss(from: partition) { $0.compact(upTo: end) }
            return "results[\(partition)] are compacted up to \(end)"
        case .lostAnswers:
            let notes = notes(in: results)
            guard let last = notes.last, let former = notes.dropLast().last else { return nil }
            // After the last note, only the next change of the same store shows a loss.
            let tail = results.read(from: last).records.filter { SimulatedJournal.revision($0.record) > 0 }
            let followed = tail.enumerated().filter { index, found in
                tail[(index + 1)...].contains {
                    $0.record.key?.bytes == found.record.key?.bytes && !$0.record.isRepeat
                } && !found.record.isRepeat
            }
            if harm.step.isMultiple(of: 3), let lost = harm.random.pick(followed)?.element.offset {
                wound(partition)
                noteLoss(from: partition) { $0.remove(lost) }
                return "results[\(partition)] lose \(lost)"
            }
            // At times only answers without a change, whose loss leaves no gap in the revisions.
            let isUnchanged = harm.random.chance(50)
            let answers = results.read(from: former).records.filter { offset, record in
                record.key != nil && offset < last && isRecent(record) && !(isUnchanged && SimulatedJournal.revision(record) > 0)
            }
            guard let first = harm.random.pick(answers.indices) else { return nil }
            wound(partition)
            let lost = answers[first...].prefix(harm.random.number(1...20)).map(\.offset)
            noteLoss(from: partition) { results in
                for offset in lost { results.remove(offset) }
            }
            return "results[\(partition)] lose \(lost)"
        case .tombstone, .changedMenu, .foreignStock:
            let records = stock.read().records.map(\.record).filter { record in
                guard let key = record.key?.bytes else { return false }
                return harm.kind == .changedMenu || harm.kind == .foreignStock || isIdle(key, in: results)
            }
            guard let record = harm.random.pick(records), let key = record.key else { return nil }
            wound(partition)
            let invented = record.text.replacing(/"revision":[0-9]+/, with: #""revision":1000000"#)
            let texts = [record.text, record.text, invented, "rubbish"]
            let value = harm.kind == .foreignStock ? harm.random.pick(texts).map { Array($0.utf8) } : nil
            cluster.writeStrangeStock(partition, key: key.bytes, value: value)
            return "a stranger writes to stock[\(partition)]: \(Clients.text(key.bytes)) \(Clients.text(value))"
        case .lostCommands:
            wound(partition)
            hasDamage = true
            let place = Place(topic: harm.input.topic, partition: partition)
            let position = cluster.position(of: place)
            // The loss of an unread forwarded command leaves no trace for the service, but the auditor notices it.
            let records = cluster[place].read(from: cluster[place].end - 20).records.filter { offset, record in
                offset < position || !record.headers.contains { $0.name == HeaderName.forwardedFrom }
            }
            let lost = records.map(\.offset).filter { _ in harm.random.chance(30) }
            for offset in lost { cluster[place].remove(offset) }
            return "\(place) loses \(lost)"
        case .recreatedInput:
            for partition in 0..<cluster.count(of: harm.input.topic) {
                recreate(Place(topic: harm.input.topic, partition: partition))
            }
            return "\(harm.input) are recreated"
        case .strangerInGroup:
            cluster.group.admitStranger()
            return "a stranger joins the group"
        }
    }
}
