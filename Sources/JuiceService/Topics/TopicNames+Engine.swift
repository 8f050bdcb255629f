import JuiceEngine
import JuiceMessages

/// What the topics are to the engine.
extension TopicNames {
    /// The topics that commands are read from.
    var inputs: [String] { InputTopic.allCases.map { self[$0] } }
    /// The topics that state is restored from.
    var changelogs: [String] { ChangelogTopic.allCases.map { self[$0] } }

    subscript(topic: InputTopic) -> String { self[topic.topic] }
    subscript(topic: ChangelogTopic) -> String { self[topic.topic] }
}
