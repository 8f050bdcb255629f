import JuiceMessages

/// Checks whether the topics survive the loss of a broker and stay available without it.
extension TopicCheck {
    func durability(_ topics: [String: Description]) -> [Problem] {
        fewCopies(topics) + fewConfirmations(topics) + brittleness(topics) + uncleanElections(topics)
    }

    /// One problem for all topics with too few replicas, which may well be on a broker for experiments.
    private func fewCopies(_ topics: [String: Description]) -> [Problem] {
        let few = names.all.filter { topics[$0].map { $0.replicationFactor < 3 } ?? false }
        let fewest = few.compactMap { topics[$0]?.replicationFactor }.min() ?? 0
        guard !few.isEmpty else { return [] }
        return [
            Problem(
                fault: "\(list(few)) with a replication factor of \(fewest): with fewer than 3, a broker"
                    + " that fails takes orders and stock with it or stops the service",
                mend: "kafka-reassign-partitions.sh, as docs/OPERATIONS.md#durability shows")
        ]
    }

    private func fewConfirmations(_ topics: [String: Description]) -> [Problem] {
        problem(topics, setting: "min.insync.replicas=2") { topic in
            guard topic.replicationFactor >= 3, let least = topic.minInsyncReplicas, least < 2 else { return nil }
            return "min.insync.replicas=\(least): what one broker alone has confirmed is lost with it"
        }
    }

    private func brittleness(_ topics: [String: Description]) -> [Problem] {
        problem(topics, setting: "min.insync.replicas=2") { topic in
            guard topic.replicationFactor >= 3, let least = topic.minInsyncReplicas, least >= topic.replicationFactor else {
                return nil
            }
            return "min.insync.replicas=\(least), as many as there are copies:" + " nothing is written while one broker is down"
        }
    }

    private func uncleanElections(_ topics: [String: Description]) -> [Problem] {
        problem(topics, setting: "unclean.leader.election.enable=false") { topic in
            guard topic.replicationFactor > 1, topic.configuration?["unclean.leader.election.enable"] == "true" else { return nil }
            return "unclean.leader.election.enable=true:" + " a copy that lacks records may become the leader, and they are lost"
        }
    }

    /// One problem for all topics that share it.
    private func problem(_ topics: [String: Description], setting: String, _ fault: (Description) -> String?) -> [Problem] {
        let faulty = names.all.compactMap { name in topics[name].flatMap(fault).map { (name: name, fault: $0) } }
        guard let first = faulty.first else { return [] }
        let affected = faulty.map(\.name)
        return [Problem(fault: "\(list(affected)) with \(first.fault)", mend: configCommand(affected, setting))]
    }

    private func list(_ topics: [String]) -> String {
        (topics.count == 1 ? "topic " : "topics ") + topics.joined(separator: ", ")
    }

    private func configCommand(_ topics: [String], _ entry: String) -> String {
        guard topics.count > 1 else { return configCommand(topics.joined(), entry) }
        return "for topic in \(topics.joined(separator: " ")); do \(configCommand("$topic", entry)); done"
    }
}

extension TopicCheck.Description {
    fileprivate var minInsyncReplicas: Int? {
        configuration?["min.insync.replicas"].flatMap(Int.init)
    }
}
