/// Where a record of orders or restocks is.
struct Place: Hashable {
    let kind: CommandKind
    let partition: Int
    let offset: Int64

    var description: String { "\(kind.topic.rawValue) \(partition)@\(offset)" }
}

/// Decides of every record of orders and restocks what has to come of it.
struct Intake {
    /// What must be answered: by kind, then by partition, in offset order.
    private(set) var commands: [[[Command]]]
    /// What must be put aside, and with which code.
    private(set) var undeliverable: [Place: (record: AuditRecord, codes: [DeadLetterCode])] = [:]
    /// What must be forwarded, and where to.
    private(set) var misplaced: [Place: (record: AuditRecord, owner: Int)] = [:]
    /// What says of itself that it was forwarded.
    private(set) var copies: [(place: Place, record: AuditRecord)] = []
    private(set) var names: Names

    private var reader = CommandReader()
    private let unanswerable: Set<Place>

    init(_ topics: AuditTopics, _ rules: AuditRules) {
        names = Names(partitionCount: rules.partitionCount)
        unanswerable = DeadLetterAudit.unanswerable(topics, rules)
        commands = []
        for kind in CommandKind.allCases {
            commands.append(Array(repeating: [], count: rules.partitionCount))
            for (partition, records) in topics[kind.topic].enumerated() {
                // Those beyond have only commands to be forwarded.
                if partition < rules.partitionCount {
                    commands[kind.rawValue][partition].reserveCapacity(records.count)
                }
                for index in records.indices { take(records[index], index, kind, partition) }
            }
        }
    }

    private mutating func take(_ record: AuditRecord, _ index: Int, _ kind: CommandKind, _ partition: Int) {
        let isCopy = !record.headers.isEmpty && record.headers.contains { $0.name == Contract.forwardedFrom }
        if isCopy {
            copies.append((Place(kind: kind, partition: partition, offset: record.offset), record))
        }
        let place = Place(kind: kind, partition: partition, offset: record.offset)
        guard !unanswerable.contains(place) else {
            return deadLetter(record, kind, partition, codes(ofUnanswerable: record, kind))
        }
        guard let store = names.store(key: record.key) else {
            return deadLetter(record, kind, partition, [.badStore])
        }
        let reading: CommandReader.Reading
        if let value = record.value {
            reading = value.withUnsafeBufferPointer { value in
                let reading = reader.read(value, kind)
                if case .command(let id, let task) = reading, names.owners[store] == partition {
                    let identity = names.insertIdentity(kind, store: store, id: id)
                    let command = Command(index: index, store: store, identity: identity, task: task)
                    commands[kind.rawValue][partition].append(command)
                }
                return reading
            }
        } else {
            reading = reader.read(nil, kind)
        }
        switch reading {
        case .undecodable(let codes):
            deadLetter(record, kind, partition, codes)
        case .command where names.owners[store] == partition:
            break
        case .command where isCopy:
            deadLetter(record, kind, partition, [.misplaced])
        case .command:
            misplaced[Place(kind: kind, partition: partition, offset: record.offset)] = (
                record, names.owners[store]
            )
        }
    }

    /// Only what would be answered otherwise can be unanswerable.
    private mutating func codes(ofUnanswerable record: AuditRecord, _ kind: CommandKind) -> [DeadLetterCode] {
        guard names.store(key: record.key) != nil else { return [.badStore] }
        let reading =
            record.value?.withUnsafeBufferPointer { reader.read($0, kind) } ?? reader.read(nil, kind)
        if case .undecodable(let codes) = reading { return codes }
        return [.unanswerable]
    }

    private mutating func deadLetter(
        _ record: AuditRecord,
        _ kind: CommandKind,
        _ partition: Int,
        _ codes: [DeadLetterCode]
    ) {
        undeliverable[Place(kind: kind, partition: partition, offset: record.offset)] = (record, codes)
    }
}
