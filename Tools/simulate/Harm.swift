import JuiceDomain
import JuiceEngine
import JuiceMessages

/// What a stranger, a careless operator or a wrong setting does to the topics or to the group, once in some runs.
///
/// It is drawn apart from all else, so that the other runs stay the same. Of the harmed partition, loss must be noticed: what the
/// owner or its successor cannot restore stops the partition, and an operator lets it go on. All other partitions never stop, nor
/// does any after ``Kind/strangerInGroup``.
struct Harm {
    enum Kind: CaseIterable {
        /// The results are compacted for a moment. Notes have no key, so they go; of a store's answers only the last stays.
        case compactedResults
        /// The results lose some answers between two position notes, or one after the last note.
        case lostAnswers
        /// Somebody writes a tombstone to the stock.
        case tombstone
        /// The same, after all instances were started with another menu.
        case changedMenu
        /// Somebody writes a record to the stock: an old state, one that never was, or rubbish.
        case foreignStock
        /// An input loses some of its last records, handled or not.
        case lostCommands
        /// While no instance runs, an input is recreated that was idle for long, and soon is longer than it was.
        case recreatedInput
        /// A consumer joins the group that reads only the orders.
        case strangerInGroup
    }

    let kind: Kind
    let step: Int
    /// The step at which it is prepared: an input becomes idle, the menu is changed, or all that was handled becomes old.
    let prelude: Int
    /// The input that it is about.
    let input: InputTopic
    /// Whether all instances crash just before it.
    let isUnattended: Bool
    var random: SeededGenerator

    /// Nil for runs without any.
    init?(seed: UInt64, preparing scenario: inout Scenario) {
        random = SeededGenerator(seed: seed ^ 0x4A_2217)
        guard random.chance(30), let kind = random.pick(Kind.allCases), let input = random.pick(InputTopic.allCases) else {
            return nil
        }
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
        scenario.prepare(for: self)
    }

    /// A menu with more of each fruit at first.
    static let otherMenu: Menu? = {
        let menu = Menu.standard
        return try? Menu(
            fruits: menu.fruits.map { Fruit(id: $0.id, name: $0.name, initialStock: $0.initialStock + 90) },
            juices: menu.juices.map { juice in
                JuiceSpec(
                    id: juice.id, name: juice.name, aliases: juice.aliases,
                    recipe: juice.recipe.map { (menu.fruits[$0.fruit].id, $0.amount) })
            })
    }()
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

    /// Notes which commands have lost their answers.
    private mutating func noteLoss(from partition: Int32, _ lose: (SimulatedPartition) -> Void) {
        let results = cluster[.results, partition]
        lose(results)
        for (_, record) in results.removed.sorted(by: { $0.key < $1.key }) where isRecent(record) {
            guard let (topic, next) = record.value.flatMap({ SimulatedJournal.answered($0.view) }) else { continue }
            let place = Place(topic: topic.topic, partition: partition)
            for (_, command) in cluster[place].read(from: next - 1, max: 1).records { unanswered.append((place, command)) }
        }
    }

    /// Carries out a harm to a topic.
    ///
    /// - Returns: what happened, for the trace; nil if there is nothing to harm yet.
    mutating func strike(_ harm: inout Harm) -> String? {
        // One of those with most of the records.
        let ends = (0..<cluster.partitionCount).map { cluster[.results, $0].end }
        let most = ends.max() ?? 0
        let partition = Int32(harm.random.pick(ends.indices.filter { 2 * ends[$0] >= most }) ?? 0)
        let (results, stock) = (cluster[.results, partition], cluster[.stock, partition])
        switch harm.kind {
        case .compactedResults:
            // A journal of notes alone would be empty. It is taken for a new one if the group has no offsets either.
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
                    $0.record.key?.bytes == found.record.key?.bytes && !$0.record.text.contains(#""duplicate":true"#)
                } && !found.record.text.contains(#""duplicate":true"#)
            }
            if harm.step.isMultiple(of: 3), let lost = harm.random.pick(followed)?.element.offset {
                wound(partition)
                noteLoss(from: partition) { $0.remove(lost) }
                return "results[\(partition)] lose \(lost)"
            }
            // At times only answers that tell of no change, which no revision misses.
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
            // The loss of a forwarded command that is not read yet leaves no trace, but the auditor knows of it.
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
