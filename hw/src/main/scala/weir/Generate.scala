package weir

object Generate { def main(args: Array[String]): Unit = println(WeirConfig.presets.map(_.name).mkString(" ")) }
