/// The position of a record of orders or restocks.
struct Place: Hashable {
    let topic: AuditTopic
    let partition: Int
    let offset: Int64

    var description: String { "\(topic.rawValue) \(partition)@\(offset)" }
}

extension Place: Comparable {
    static func < (first: Place, second: Place) -> Bool {
        (first.topic.rawValue, first.partition, first.offset)
            < (second.topic.rawValue, second.partition, second.offset)
    }
}

/// Decides for every record of orders and restocks what the service has to do with it.
struct Intake {
    /// What must be answered: by topic, then by partition, in offset order.
    private(set) var commands: [AuditTopic: [[Command]]] = [:]
    /// Records that must become dead letters, with the codes allowed.
    private(set) var undeliverable: [Place: (record: AuditRecord, codes: [DeadLetterCode])] = [:]
    /// Commands that must be forwarded, with their owners.
    private(set) var misplaced: [Place: (record: AuditRecord, owner: Int)] = [:]
    /// Records whose headers say that they were forwarded.
    private(set) var copies: [(place: Place, record: AuditRecord)] = []
    private(set) var names: Names

    private var reader = CommandReader()
    private let unanswerable: Set<Place>

    init(_ topics: AuditTopics, _ rules: AuditRules) {
        names = Names(partitionCount: rules.partitionCount)
        unanswerable = DeadLetterAudit.unanswerable(topics, rules)
        for topic in AuditTopic.inputs {
            commands[topic] = Array(repeating: [], count: rules.partitionCount)
            for (partition, records) in topics[topic].enumerated() {
                for index in records.indices { classify(records[index], index, topic, partition) }
            }
        }
    }

    private mutating func classify(_ record: AuditRecord, _ index: Int, _ topic: AuditTopic, _ partition: Int)
    {
        let place = Place(topic: topic, partition: partition, offset: record.offset)
        let isCopy = !record.headers.isEmpty && record.headers.contains { $0.name == Contract.forwardedFrom }
        if isCopy { copies.append((place, record)) }
        guard !unanswerable.contains(place) else {
            return undeliverable[place] = (record, codes(ofUnanswerable: record, topic))
        }
        guard let store = names.store(key: record.key) else {
            return undeliverable[place] = (record, [.badStore])
        }
        let reading: CommandReader.Reading
        if let value = record.value {
            reading = value.withUnsafeBufferPointer { value in
                let reading = reader.read(value, topic)
                if case .command(let id, let kind, let task) = reading, names.owners[store] == partition {
                    let identity = names.insertIdentity(kind, store: store, id: id)
                    let order =
                        kind == .cancel ? names.insertIdentity(.order, store: store, id: id) : identity
                    let command = Command(
                        index: index,
                        kind: kind,
                        store: store,
                        identity: identity,
                        remembered: order,
                        task: task
                    )
                    commands[topic]?[partition].append(command)
                }
                return reading
            }
        } else {
            reading = reader.read(nil, topic)
        }
        switch reading {
        case .undecodable(let codes):
            undeliverable[place] = (record, codes)
        case .command where names.owners[store] == partition:
            break
        case .command where isCopy:
            undeliverable[place] = (record, [.misplaced])
        case .command:
            misplaced[place] = (record, names.owners[store])
        }
    }

    /// The code is "unanswerable" only if the record would be answered otherwise.
    private mutating func codes(ofUnanswerable record: AuditRecord, _ topic: AuditTopic) -> [DeadLetterCode] {
        guard names.store(key: record.key) != nil else { return [.badStore] }
        let reading =
            record.value?.withUnsafeBufferPointer { reader.read($0, topic) } ?? reader.read(nil, topic)
        if case .undecodable(let codes) = reading { return codes }
        return [.unanswerable]
    }
}
